import { once } from 'node:events';
import { createServer } from 'node:net';
import { type App, createApp, type Listening } from '../app.ts';
import { loadSettings } from '../config/load.ts';
import { createLogger } from '../telemetry/logger.ts';

/** How the demo's proxy is started. */
export interface ProxyOptions {
  readonly upstreamUrl: string;
  readonly redisUrl: string | undefined;
  /** The part of every key that keeps this chain's answers apart from all others in the same Redis. */
  readonly network: string;
  /** The ports to be had if they are free; else the next free ones. */
  readonly port: number;
  readonly adminPort: number;
}

/** A proxy that listens, to be closed by whoever started it. */
export interface RunningProxy extends Listening {
  readonly app: App;
}

const TRIES = 20;

/** Starts the proxy itself, as the process has it, in this one; only its errors are logged, to stderr. */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  for (let tries = 1; ; tries++) {
    const port = await findFreePort(options.port);
    const adminPort = await findFreePort(options.adminPort, [port]);
    const { settings } = loadSettings({
      UPSTREAM_URL: options.upstreamUrl,
      REDIS_URL: options.redisUrl,
      NETWORK: options.network,
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
    });
    const app = createApp({ logger: createLogger('error', process.stderr) }, settings);
    try {
      return { app, ...(await app.listen()) };
    } catch (error) {
      await app.close();
      // Somebody may have taken a port since it was looked at.
      if (!isPortTaken(error) || tries === TRIES) throw error;
    }
  }
}

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
function isPortTaken(error: unknown): boolean {
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
