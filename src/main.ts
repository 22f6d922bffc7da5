import { createApp } from './app.ts';
import { type LoadedSettings, loadSettings, SettingsError } from './config/load.ts';
import { onEndingSignal } from './ending-signals.ts';
import { LogDestination } from './operate/log-destination.ts';
import { createLogger } from './operate/logger.ts';
import { VERSION } from './version.ts';

/** EX_CONFIG of sysexits.h: starting again will not help. */
const EXIT_CONFIG = 78;

/** How long the reader of a full pipe has for the last lines of the log. */
const LAST_LINES_MS = 250;

const { settings, warnings } = readSettings();
// The first use of `process.stdout` makes Node's stream, which sets a pipe to non-blocking: LogDestination needs that.
const output = new LogDestination(process.stdout.fd);
process.on('exit', () => output.flush(LAST_LINES_MS));
const logger = createLogger(settings.logLevel, output);
const app = createApp({ logger, logLinesDropped: () => output.dropped }, settings);

onEndingSignal(['SIGTERM', 'SIGINT'], (signal) => void end(signal));

for (const warning of warnings) logger.warn(warning);

try {
  const { publicUrl, adminUrl } = await app.listen();
  const { network, upstream, redis } = settings;
  logger.info(
    {
      version: VERSION,
      publicUrl,
      adminUrl,
      upstream: upstream.url,
      network,
      redis: redis.url === undefined ? 'none' : 'configured',
    },
    'toncache is ready',
  );
  // Not waited for: hits are served whatever the indexer does.
  if (upstream.url.length === 1) void app.askIndexers();
} catch (error) {
  logger.fatal({ err: error }, 'toncache cannot listen');
  process.exit(1);
}

function readSettings(): LoadedSettings {
  try {
    return loadSettings(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    console.error(
      `toncache cannot start, these settings are wrong:\n${error.problems.map((it) => `  ${it}`).join('\n')}`,
    );
    process.exit(EXIT_CONFIG);
  }
}

/** After `http.shutdownDelay`, requests in flight are answered and the process ends. */
async function end(signal: string): Promise<void> {
  const { shutdownDelay: shutdownDelayMs } = settings.http;
  logger.info({ signal, shutdownDelayMs }, 'shutting down, draining requests');
  await app.close();
  logger.info('shut down');
  process.exit(0);
}
