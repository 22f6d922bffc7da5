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

/**
 * Starts the proxy itself, as the process has it, in this one; only its errors are logged, to stderr. Where a port is in
 * use, both move on by one.
 */
export async function startProxy({ upstreamUrl, redisUrl, network, ...ports }: ProxyOptions): Promise<RunningProxy> {
  for (let tries = 0; ; tries++) {
    const portFrom = (from: number) => String(from === 0 ? 0 : from + tries);
    const { settings } = loadSettings({
      UPSTREAM_URL: upstreamUrl,
      REDIS_URL: redisUrl,
      NETWORK: network,
      PORT: portFrom(ports.port),
      ADMIN_PORT: portFrom(ports.adminPort === ports.port && ports.port > 0 ? ports.port + 1 : ports.adminPort),
    });
    const app = createApp({ logger: createLogger('error', process.stderr) }, settings);
    try {
      return { app, ...(await app.listen()) };
    } catch (error) {
      await app.close();
      const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isTaken || tries === TRIES) throw error;
    }
  }
}
