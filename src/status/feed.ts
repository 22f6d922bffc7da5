import type { ServerResponse } from 'node:http';

export interface StatusFeedDependencies {
  /** Builds one message for all who look, with what only some may see apart. Must not reject but for a bug. */
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

/** More pages than people who look at one instance. */
const MAX_VIEWERS = 16;

/** Messages to everybody who looks (server-sent events, HTML 9.2): nothing is built while nobody does. */
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

  /** Whether one more may look. */
  get hasRoom(): boolean {
    return !this.#closed && this.#viewers.size < MAX_VIEWERS;
  }

  /** Sends messages from now on, within the interval, until the viewer leaves or the feed is closed. */
  add(response: ServerResponse, isTrusted: boolean, headers: readonly string[]): void {
    const viewer = { response, isTrusted };
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

  /** Ends every viewer's answer, and takes no more. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const { response } of this.#viewers) response.end();
  }

  #send(isFirst: boolean): void {
    // A process that is too busy to answer within a second sends less often.
    if (this.#reading) return;
    this.#reading = true;
    this.#dependencies
      .read(isFirst)
      .then(({ numbers, secrets }) => {
        for (const { response, isTrusted } of this.#viewers) {
          // Whoever does not read misses messages, and they cost no memory.
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
