import { createApp } from './app.ts';
import { type LoadedSettings, loadSettings, SettingsError } from './config/load.ts';
import { createLogger } from './telemetry/logger.ts';

/** EX_CONFIG of sysexits.h: starting again will not help. */
const EXIT_CONFIG = 78;

const { settings, networkIsAssumed } = readSettings();
const logger = createLogger(settings.logLevel);
const app = createApp({ settings, logger });

process.once('SIGTERM', (signal) => void end(signal));
process.once('SIGINT', (signal) => void end(signal));

if (settings.redis.url !== undefined && networkIsAssumed) {
  logger.warn('NETWORK is not set and "mainnet" is assumed: instances of another chain must not share keys with it');
}

try {
  const { publicUrl, adminUrl } = await app.listen();
  const { network, upstream, redis } = settings;
  logger.info(
    { publicUrl, adminUrl, upstream: upstream.url, network, redis: redis.url === undefined ? 'none' : 'configured' },
    'toncache is ready',
  );
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

/** Answers what is in flight, then ends; a second signal ends at once. */
async function end(signal: string): Promise<void> {
  process.once('SIGTERM', () => process.exit(1));
  process.once('SIGINT', () => process.exit(1));
  logger.info({ signal }, 'ending: answering what is in flight');
  await app.close();
  logger.info('ended');
  process.exit(0);
}
