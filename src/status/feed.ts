import type { ServerResponse } from 'node:http';

export interface StatusFeedDependencies {
  /** Builds one message for all viewers; `secrets` go to trusted viewers only. Rejects only for a bug. */
  readonly read: (isFirst: boolean) => Promise<{ readonly numbers: object; readonly secrets: object }>;
  readonly onBug: (error: unknown) => void;
}

export interface StatusFeedOptions {
  readonly everyMs: number;
}

interface Viewer {
  readonly response: ServerResponse;
  /** Whether this viewer may see the secrets. */
  readonly isTrusted: boolean;
}

/** The most open status pages: more than people watch one instance. The next one takes the place of the oldest. */
const MAX_VIEWERS = 16;

/**
 * Sends messages to all viewers of the status page (server-sent events, HTML 9.2). Builds none while there is no
 * viewer.
 */
export class StatusFeed {
  readonly #dependencies: StatusFeedDependencies;
  readonly #options: StatusFeedOptions;
  readonly #viewers = new Set<Viewer>();
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  #closed = false;

  constructor(dependencies: StatusFeedDependencies, options: StatusFeedOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Adds a viewer, who gets messages until he leaves or has to make room; the first within one interval. */
  add(response: ServerResponse, isTrusted: boolean, headers: readonly string[]): void {
    const viewer = { response, isTrusted };
    const [oldest] = this.#viewers;
    // Not `end`, which waits until a viewer has read what was sent.
    if (oldest !== undefined && this.#viewers.size >= MAX_VIEWERS) {
      this.#viewers.delete(oldest);
      oldest.response.destroy();
    }
    response.writeHead(200, ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-store', ...headers]);
    response.flushHeaders();
    this.#viewers.add(viewer);
    response.on('close', () => {
      this.#viewers.delete(viewer);
      if (this.#viewers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#send(false), this.#options.everyMs);
    this.#send(true);
  }

  /** Ends all viewers' responses and accepts no more. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const { response } of this.#viewers) response.end();
  }

  #send(isFirst: boolean): void {
    // Skip a message while the one before is still being built: a busy process sends less often.
    if (this.#reading) return;
    this.#reading = true;
    this.#dependencies
      .read(isFirst)
      .then(({ numbers, secrets }) => {
        for (const { response, isTrusted } of this.#viewers) {
          // A viewer who does not read misses messages, so that they take no memory.
          if (response.writableEnded || response.writableNeedDrain) continue;
          response.write(`data: ${JSON.stringify(isTrusted ? { ...numbers, ...secrets } : numbers)}\n\n`);
        }
      })
      .catch(this.#dependencies.onBug)
      .finally(() => {
        this.#reading = false;
      });
  }
}
