import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Endpoint, parseRedisUrl } from '../redis/redis-url.ts';
import type { Ms } from '../time-units.ts';

/** A server in reach answers sooner. */
const PROBE_MS: Ms = 2000;

/**
 * Why Redis cannot be reached, if the settings have TLS and its first address has not, or the other way round: a server
 * without TLS waits for the rest of a command, and one with TLS closes the connection, and neither tells why. `undefined`
 * otherwise. Never rejects.
 */
export async function tlsMismatch(url: string, tlsCa: string | undefined): Promise<string | undefined> {
  const address = parseRedisUrl(url);
  const [endpoint] = address.endpoints;
  if (endpoint === undefined) return undefined;
  const isServer = address.topology === 'server';
  if (isServer ? address.tls : tlsCa !== undefined) {
    const advice = isServer ? 'write redis://, not rediss://' : 'leave out REDIS_TLS_CA_FILE';
    return (await answersPlainly(endpoint)) ? `it speaks no TLS: ${advice}` : undefined;
  }
  const advice = isServer ? 'write rediss://, not redis://' : 'set REDIS_TLS_CA_FILE';
  return (await speaksTls(endpoint)) ? `it speaks TLS: ${advice}` : undefined;
}

/** True if the server completes a handshake, whatever its certificate. */
function speaksTls({ host, port }: Endpoint): Promise<boolean> {
  const socket = connectTls({ host, port, rejectUnauthorized: false });
  return probed(socket, (yes) => socket.once('secureConnect', yes));
}

/** True if the server answers a command without TLS, be it with an error. */
function answersPlainly({ host, port }: Endpoint): Promise<boolean> {
  const socket = connectTcp({ host, port });
  socket.write('PING\r\n');
  return probed(socket, (yes) => socket.once('data', (bytes) => /^[+-]/.test(bytes.toString('latin1')) && yes()));
}

function probed(socket: Socket, when: (yes: () => void) => void): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.setTimeout(PROBE_MS, () => resolve(false));
  socket.on('error', () => resolve(false));
  socket.on('close', () => resolve(false));
  when(() => resolve(true));
  return promise.finally(() => socket.destroy());
}
