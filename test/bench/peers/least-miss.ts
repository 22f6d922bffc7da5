import { createServer } from 'node:net';
import { Client, type Dispatcher } from 'undici';

// The least that passing a request on can cost in Node with undici: a socket without an HTTP parser, one request to the
// indexer, its bytes sent on. Nothing is checked, kept or counted. To be compared with toncache's misses:
// `npm run bench:peers -- --only misses --toncache . --toncache "node test/bench/peers/least-miss.ts"`.

const CONNECTIONS = 64;
const END_OF_HEAD = Buffer.from('\r\n\r\n');

const indexer = new URL(process.env['UPSTREAM_URL'] ?? '');
const clients = Array.from({ length: CONNECTIONS }, () => new Client(indexer.origin));
let next = 0;

createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  socket.on('data', (head) => {
    if (head.indexOf(END_OF_HEAD) !== head.length - END_OF_HEAD.length) throw new Error('one whole request at a time');
    const path = head.toString('latin1', head.indexOf(' ') + 1, head.indexOf(' HTTP/'));
    clients[next++ % CONNECTIONS]?.dispatch({ path, method: 'GET' }, new PassOn((bytes) => socket.write(bytes)));
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');

/** Collects an answer and sends it on in one write. */
class PassOn implements Dispatcher.DispatchHandler {
  readonly #send: (bytes: Buffer) => void;
  readonly #chunks: Buffer[] = [];

  constructor(send: (bytes: Buffer) => void) {
    this.#send = send;
  }

  onRequestStart(): void {}

  onResponseStart(): void {}

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const bytes = this.#chunks.reduce((sum, { length }) => sum + length, 0);
    const head = Buffer.from(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
      'latin1',
    );
    this.#send(Buffer.concat([head, ...this.#chunks], head.length + bytes));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    throw error;
  }
}
