import type { ServerResponse } from 'node:http';

/** The most open status pages: more than people watch one instance. The next one takes the place of the oldest. */
const MAX_VIEWERS = 16;

/** Sends messages to all viewers (server-sent events, HTML 9.2). */
export class StatusFeed {
  /** Oldest first, with whether they may see the secrets. */
  readonly #viewers = new Map<ServerResponse, boolean>();
  #closed = false;

  get isClosed(): boolean {
    return this.#closed;
  }

  get hasViewers(): boolean {
    return this.#viewers.size > 0;
  }

  /** Adds a viewer, who gets this message, and others until he leaves or has to make room. */
  add(response: ServerResponse, isTrusted: boolean, first: object): void {
    const [oldest] = this.#viewers.keys();
    if (oldest !== undefined && this.#viewers.size >= MAX_VIEWERS) {
      this.#viewers.delete(oldest);
      // Not `end`, which waits until a viewer has read what was sent.
      oldest.destroy();
    }
    const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' };
    response.writeHead(200, { ...headers, 'X-Content-Type-Options': 'nosniff' }).flushHeaders();
    this.#viewers.set(response, isTrusted);
    response.on('close', () => this.#viewers.delete(response));
    response.write(textOf(first));
  }

  /** Sends a message to all; the secrets only to trusted ones. */
  send(numbers: object, secrets: object): void {
    for (const [response, isTrusted] of this.#viewers) {
      // A viewer who does not read misses messages, so that they take no memory.
      if (response.writableEnded || response.writableNeedDrain) continue;
      response.write(textOf(isTrusted ? { ...numbers, ...secrets } : numbers));
    }
  }

  /** Ends all viewers' responses. */
  close(): void {
    this.#closed = true;
    for (const response of this.#viewers.keys()) response.end();
  }
}

function textOf(message: object): string {
  return `data: ${JSON.stringify(message)}\n\n`;
}
