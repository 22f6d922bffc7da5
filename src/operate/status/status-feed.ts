import type { ServerResponse } from 'node:http';

/** What viewers are sent; only trusted ones get the secrets too. */
export interface StatusMessage {
  readonly numbers: object;
  readonly secrets: object;
}

export interface StatusFeedDependencies {
  /** Builds the message of this second. Rejects only for a bug. */
  readonly read: (isFirst: boolean) => Promise<StatusMessage>;
  readonly onBug: (error: unknown) => void;
}

const EVERY_MS = 1000;

/** The most open status pages: more than people watch one instance. The next one takes the place of the oldest. */
const MAX_VIEWERS = 16;

/** Sends a message a second to all viewers (server-sent events, HTML 9.2). Builds none while there is no viewer. */
export class StatusFeed {
  readonly #dependencies: StatusFeedDependencies;
  /** Oldest first, with whether they may see the secrets. */
  readonly #viewers = new Map<ServerResponse, boolean>();
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  #closed = false;

  constructor(dependencies: StatusFeedDependencies) {
    this.#dependencies = dependencies;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Adds a viewer, who gets messages until he leaves or has to make room; the first at once. */
  add(response: ServerResponse, isTrusted: boolean): void {
    const [oldest] = this.#viewers.keys();
    if (oldest !== undefined && this.#viewers.size >= MAX_VIEWERS) {
      this.#viewers.delete(oldest);
      // Not `end`, which waits until a viewer has read what was sent.
      oldest.destroy();
    }
    const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' };
    response.writeHead(200, { ...headers, 'X-Content-Type-Options': 'nosniff' }).flushHeaders();
    this.#viewers.set(response, isTrusted);
    response.on('close', () => {
      this.#viewers.delete(response);
      if (this.#viewers.size === 0) this.#stop();
    });
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#send(false), EVERY_MS);
    this.#send(true);
  }

  /** Ends all viewers' responses and sends no more. */
  close(): void {
    this.#closed = true;
    this.#stop();
    for (const response of this.#viewers.keys()) response.end();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #send(isFirst: boolean): void {
    // Skip a message while the one before is still being built: a busy process sends less often.
    if (this.#reading) return;
    this.#reading = true;
    this.#dependencies
      .read(isFirst)
      .then((message) => this.#sendToAll(message))
      .catch(this.#dependencies.onBug)
      .finally(() => {
        this.#reading = false;
      });
  }

  #sendToAll({ numbers, secrets }: StatusMessage): void {
    for (const [response, isTrusted] of this.#viewers) {
      // A viewer who does not read misses messages, so that they take no memory.
      if (response.writableEnded || response.writableNeedDrain) continue;
      response.write(`data: ${JSON.stringify(isTrusted ? { ...numbers, ...secrets } : numbers)}\n\n`);
    }
  }
}
