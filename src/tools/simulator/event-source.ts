import type { ServerResponse } from 'node:http';

/** The interval of comments, as at the real server. */
const COMMENT_EVERY_MS = 15_000;

/** The server's side of one stream of server-sent events, which receives nothing from its client. */
export class EventSourceConnection {
  /** Called once, when the connection has ended in any way. */
  onEnd: () => void = () => {};
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
    const comments = setInterval(() => response.write(': keepalive\n\n'), COMMENT_EVERY_MS).unref();
    response.on('close', () => {
      clearInterval(comments);
      this.onEnd();
    });
  }

  send(text: string): void {
    if (this.#response.writable) this.#response.write(`data: ${text}\n\n`);
  }

  destroy(): void {
    this.#response.destroy();
  }
}
