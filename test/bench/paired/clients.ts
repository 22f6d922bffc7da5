import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Connections of the clients of one server: fewer than toncache's 64 slots, so that no miss waits for one. */
const CONNECTIONS = 16;

/** Clients of one server that need little CPU time. Each sends the next request once it has its answer. */
export interface Clients {
  /** Requests each of these targets once. Resolves when all are answered; rejects for a status other than 200. */
  ask(targets: readonly string[]): Promise<void>;
}

/** Connects to a server; `headers`: sent with each request, each with its line end. */
export async function connectClients(url: string, headers: string): Promise<Clients> {
  const port = Number(new URL(url).port);
  const sockets = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      await once(socket, 'connect');
      return socket;
    }),
  );
  return {
    ask: async (targets) => {
      const left = targets.values();
      await Promise.all(sockets.map((socket) => askOneByOne(socket, left, headers)));
    },
  };
}

function askOneByOne(socket: Socket, left: IteratorObject<string>, headers: string): Promise<void> {
  return new Promise((resolve, reject) => {
    /** The missing bytes; `undefined` before the head of the answer. */
    let missing: number | undefined;
    const next = () => {
      const { done, value } = left.next();
      if (done === true) {
        socket.off('data', read).off('close', lose);
        resolve();
        return;
      }
      missing = undefined;
      socket.write(`GET ${value} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`, 'latin1');
    };
    const read = (bytes: Buffer) => {
      missing = (missing ?? lengthOf(bytes)) - bytes.length;
      if (missing === 0) next();
    };
    const lose = () => reject(new Error('a connection was closed'));
    socket.on('data', read).on('close', lose);
    next();
  });
}

/** The length of an answer with its head; these bytes contain the head. */
function lengthOf(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n\r\n');
  const head = bytes.toString('latin1', 0, end);
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (!head.startsWith('HTTP/1.1 200 ') || length === undefined) throw new Error(`no answer to measure: ${head}`);
  return end + 4 + Number(length);
}
