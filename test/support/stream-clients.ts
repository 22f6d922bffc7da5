import { once } from 'node:events';
import { expect } from 'vitest';
import { WebSocket } from 'ws';

const PATIENCE = { interval: 2 };

export const WS = '/api/streaming/v2/ws';
export const SSE = '/api/streaming/v2/sse';

type Headers = Readonly<Record<string, string>>;

/** A client of the Streaming API, with its received messages. */
export class WebSocketClient implements Disposable {
  readonly messages: string[] = [];
  readonly socket: WebSocket;
  /** Resolves with the code of its end. */
  readonly closed: Promise<number>;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => void this.messages.push(String(data)));
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => void socket.on('close', resolve));
  }

  /** Resolves once it is open. Rejects with `Unexpected server response: <status>` if it is refused. */
  static async open(origin: string, headers: Headers = {}, target = WS): Promise<WebSocketClient> {
    const socket = new WebSocket(origin.replace('http', 'ws') + target, { headers });
    const client = new WebSocketClient(socket);
    await once(socket, 'open');
    return client;
  }

  async untilMessages(count: number): Promise<void> {
    await expect.poll(() => this.messages.length, PATIENCE).toBe(count);
  }

  /** Sends an operation, and waits for its answer. */
  async ask(operation: object): Promise<void> {
    const before = this.messages.length;
    this.socket.send(JSON.stringify(operation));
    await this.untilMessages(before + 1);
  }

  [Symbol.dispose](): void {
    this.socket.terminate();
  }
}

/** A client of server-sent events that reads by `fetch`. */
export class EventsClient implements Disposable {
  text = '';
  readonly response: Response;
  /** Resolves with the way in which it ended. */
  readonly closed: Promise<'ended' | 'broken'>;
  readonly #leave: AbortController;

  private constructor(response: Response, leave: AbortController) {
    this.response = response;
    this.#leave = leave;
    this.closed = this.#read().then(
      () => 'ended',
      () => 'broken',
    );
  }

  /** Resolves when the head of its answer is there. */
  static async open(origin: string, operation: object, headers: Headers = {}, query = ''): Promise<EventsClient> {
    const leave = new AbortController();
    const body = JSON.stringify(operation);
    return new EventsClient(
      await fetch(origin + SSE + query, { method: 'POST', body, headers, signal: leave.signal }),
      leave,
    );
  }

  async untilText(text: string): Promise<void> {
    await expect.poll(() => this.text, PATIENCE).toContain(text);
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.response.body ?? []) this.text += decoder.decode(bytes, { stream: true });
  }

  [Symbol.dispose](): void {
    this.#leave.abort();
  }
}

/** The status with which a server refuses a WebSocket, and its body. Rejects if it opens one. */
export async function refusedWith(
  origin: string,
  headers: Headers = {},
  target = WS,
): Promise<{ status: number; text: string; headers: Record<string, string | string[] | undefined> }> {
  const socket = new WebSocket(origin.replace('http', 'ws') + target, { headers });
  socket.once('open', () => {
    socket.terminate();
    socket.emit('error', new Error('the WebSocket was opened'));
  });
  // This also rejects at an error.
  const [, response] = await once(socket, 'unexpected-response');
  let text = '';
  for await (const bytes of response) text += bytes;
  return { status: response.statusCode, text, headers: response.headers };
}
