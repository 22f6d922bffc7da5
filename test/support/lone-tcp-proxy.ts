import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * A TCP proxy without its server, like Docker's or that of a mesh: it accepts connections and closes them immediately.
 */
export interface LoneTcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Resolves when another server may listen on its port. Further calls do nothing. */
  readonly close: () => Promise<void>;
}

/** Starts one on a loopback address, by default on any free port. */
export async function startLoneTcpProxy(port = 0): Promise<LoneTcpProxy> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.destroy();
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const { port: listensOn } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return { port: listensOn, close, [Symbol.asyncDispose]: close };
}
