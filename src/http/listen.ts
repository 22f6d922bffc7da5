import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Opens a port and resolves with its URL; rejects if the port is in use. With `reusePort` other processes of this user
 * may open it as well (SO_REUSEPORT): the system spreads new connections over all of them.
 */
export async function listen(server: Server, host: string, port: number, reusePort = false): Promise<string> {
  server.listen({ host, port, reusePort });
  await once(server, 'listening');
  const { address, family, port: actual } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${actual}`;
}
