import { once } from 'node:events';
import { createServer } from 'node:net';

const LAST_PORT = 65_535;

/**
 * The first port from `from` on that can be listened on at 127.0.0.1 and is not among `but`; 0, which stands for any,
 * stays 0. Another process can take it before the caller does: be ready to ask again. Rejects when there is none, or
 * when listening fails for another reason (a port below 1024).
 */
export async function findFreePort(from: number, but: readonly number[] = []): Promise<number> {
  if (from === 0) return 0;
  for (let port = from; port <= LAST_PORT; port++) {
    if (!but.includes(port) && (await isFree(port))) return port;
  }
  throw new Error(`no port from ${from} on is free`);
}

/** Whether an error says that somebody else listens on the port. */
export function isPortTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    await once(probe.listen({ host: '127.0.0.1', port, exclusive: true }), 'listening');
  } catch (error) {
    if (isPortTaken(error)) return false;
    throw error;
  }
  const closed = once(probe, 'close');
  probe.close();
  await closed;
  return true;
}
