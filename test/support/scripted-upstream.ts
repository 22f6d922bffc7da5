import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** Handles a request, given its head; the connection stays open unless this ends it. */
export type Script = (socket: Socket, head: string) => void;

/** The newest block of a scripted indexer, unless the script names another one. */
export const SCRIPTED_SEQNO = 7;

/** A server in place of the indexer that writes the test's bytes. */
export interface ScriptedUpstream extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The requests to it, a head each, oldest first. */
  readonly heads: readonly string[];
  /** These heads without head polls and head checks, which depend on the clock and not on the test. */
  readonly asked: readonly string[];
  /** The number of accepted connections. */
  readonly connections: number;
  /** The number of open connections. */
  readonly open: number;
  /** Accepts no connection from now on. Resolves when the open ones have ended. */
  readonly stopListening: () => Promise<void>;
}

/** A head poll, or the head check of {@link SCRIPTED_SEQNO}. */
const IS_OF_HEAD = new RegExp(`^GET \\S*/(masterchainInfo|masterchainBlockShards\\?seqno=${SCRIPTED_SEQNO}) `);

/** Starts one on a loopback address; `onPort`: default a free one. */
export async function startScriptedUpstream(
  script: Script,
  host: '127.0.0.1' | '127.0.0.2' | '::1' = '127.0.0.1',
  onPort = 0,
): Promise<ScriptedUpstream> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    let read = '';
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      read += chunk.toString('latin1');
      for (let end = read.indexOf('\r\n\r\n'); end >= 0; end = read.indexOf('\r\n\r\n')) {
        const head = read.slice(0, end);
        read = read.slice(end + 4);
        heads.push(head);
        script(socket, head);
      }
    });
  });
  await once(server.listen(onPort, host), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host === '::1' ? '[::1]' : host}:${port}`,
    port,
    heads,
    get asked() {
      return heads.filter((head) => !IS_OF_HEAD.test(head));
    },
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    stopListening: async () => {
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
