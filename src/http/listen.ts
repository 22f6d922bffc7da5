import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The connections that wait until this process accepts them, at most: Linux allows 4096 (`net.core.somaxconn`), Node
 * asks for 511. Above it the system drops new connections, which are opened again a second later, or reset. A process
 * that stands still for a second gets this many at 4000 a second.
 */
const BACKLOG = 4096;

/**
 * Opens a port and resolves with its URL; rejects if the port is in use. With `reusePort` other processes of this user
 * may open it as well (SO_REUSEPORT): the system spreads new connections over all of them.
 */
export async function listen(server: Server, host: string, port: number, reusePort = false): Promise<string> {
  server.listen({ host, port, reusePort, backlog: BACKLOG });
  await once(server, 'listening');
  const { address, family, port: actual } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${actual}`;
}
