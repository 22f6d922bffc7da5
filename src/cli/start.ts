import { containerLimit, heapLimit } from '../admission/memory-pressure.ts';
import { createApp } from '../app.ts';
import { loadSettings } from '../config/load.ts';
import { shownPaths } from '../config/passed-paths.ts';
import { shownUrl } from '../config/shown-url.ts';
import { memoryWarning } from '../config/warnings.ts';
import { LogDestination } from '../operate/log-destination.ts';
import { createLogger } from '../operate/logger.ts';
import { VERSION } from '../version.ts';
import { type Command, EXIT } from './command.ts';
import { onEndingSignal } from './ending-signals.ts';
import { readOptions } from './options.ts';

/** The time in which the reader of a full pipe may take the last lines of the log. */
const LAST_LINES_MS = 250;

/** Signals that end a process by default and that an orchestrator, a terminal or a wrapper with a time limit sends. */
const ENDING: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGALRM'];

/** Signals that make some programs reopen their log. By default Node opens a debugger at one and ends at the other. */
const IGNORED: readonly NodeJS.Signals[] = ['SIGUSR1', 'SIGUSR2'];

export const start: Command = {
  help: `usage: toncache start

Runs toncache until ${ENDING.slice(0, -1).join(', ')} or ${ENDING.at(-1)}. Settings come from the environment and the file
that CONFIG_FILE names.

example:
  UPSTREAM_URL=http://indexer:8081 REDIS_URL=redis://127.0.0.1 toncache start

exit codes: 0 ended by a signal, 1 cannot listen, or got a second signal to end, 64 wrong command line, 78 wrong settings`,

  async run(args, { env }) {
    readOptions(args, {});
    const { settings, warnings: ofSettings } = loadSettings(env);
    const warnings = [...ofSettings, ...memoryWarning(settings, containerLimit(), heapLimit())];
    // The first use of `process.stdout` makes Node's stream, which sets a pipe to non-blocking: LogDestination needs
    // that.
    const output = new LogDestination(process.stdout.fd);
    process.on('exit', () => output.flush(LAST_LINES_MS));
    const logger = createLogger(settings.logLevel, output, process.stdout.isTTY);
    const app = await createApp({ logger, logOutput: output }, settings);
    // After `http.shutdownDelay`, requests in flight are answered and the process ends.
    const end = async (signal: string) => {
      const { shutdownDelay: shutdownDelayMs } = settings.http;
      logger.info({ signal, shutdownDelayMs }, 'shutting down, draining requests');
      await app.close();
      logger.info('shut down');
      process.exit(EXIT.ok);
    };
    onEndingSignal(ENDING, (signal) => void end(signal));
    for (const each of IGNORED) process.on(each, (signal) => logger.info({ signal }, 'signal ignored'));
    for (const warning of warnings) logger.warn(warning);
    try {
      const { publicUrl, adminUrl } = await app.listen();
      const { network, upstream, passThrough } = settings;
      const passedThrough = shownPaths(passThrough.enabled, passThrough.prefixes);
      const redis = settings.redis.url === undefined ? 'not configured' : 'configured';
      logger.info(
        { version: VERSION, publicUrl, adminUrl, upstream: upstream.url.map(shownUrl), network, redis, passedThrough },
        'toncache is ready',
      );
      // Not awaited: hits are served whatever the indexer does.
      void app.askIndexers();
    } catch (error) {
      logger.fatal({ err: error }, 'toncache cannot listen');
      process.exit(EXIT.failed);
    }
    // The process continues until a signal ends it.
    return EXIT.ok;
  },
};
