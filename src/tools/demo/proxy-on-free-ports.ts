import { type App, createApp, type Listening } from '../../app.ts';
import { loadSettings } from '../../config/load.ts';
import { createLogger } from '../../operate/logger.ts';

/** How the demo's proxy is started. */
export interface ProxyOptions {
  readonly upstreamUrl: string;
  readonly redisUrl: string | undefined;
  readonly port: number;
  readonly adminPort: number;
}

/** A proxy that listens, to be closed by whoever started it. */
export interface RunningProxy extends Listening {
  readonly app: App;
}

/**
 * Starts the proxy itself, as the process has it, in this one; only its errors are logged, to stderr. Where one of its
 * ports is in use, it takes two that are free.
 */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { settings } = loadSettings({
    UPSTREAM_URL: options.upstreamUrl,
    REDIS_URL: options.redisUrl,
    // Two demos on one Redis have two chains: their keys must differ.
    NETWORK: `demo-${Date.now().toString(36)}-${process.pid}`,
    PORT: String(options.port),
    ADMIN_PORT: String(options.adminPort),
  });
  const app = createApp({ logger: createLogger('error', process.stderr) }, settings);
  try {
    return { app, ...(await app.listen()) };
  } catch (error) {
    await app.close();
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (!isTaken || options.port === 0) throw error;
    return startProxy({ ...options, port: 0, adminPort: 0 });
  }
}
