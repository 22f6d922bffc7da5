import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port without a listener, for a server that is ended and started again there. It is below the range of ports for
 * outgoing connections: such a connection could take the port in between. Even a client that reconnects to the ended
 * server could be given the server's own port, connect to itself and block the restart.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 20_000);
    // A Redis Cluster node listens on its port + 10000 too.
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening');
    probe.close();
    return true;
  } catch {
    return false;
  }
}
