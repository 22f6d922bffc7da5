import { type App, createApp, type Listening } from '../app.ts';
import { loadSettings } from '../config/load.ts';
import { createLogger } from '../telemetry/logger.ts';
import { findFreePort, isPortTaken } from './find-free-port.ts';

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
