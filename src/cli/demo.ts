import { loadSettings } from '../config/load.ts';
import { duration } from '../config/values.ts';
import { type Command, EXIT, UnavailableError, UsageError } from './command.ts';
import { expectNoMore, readOptions } from './options.ts';

/** On Ctrl-C both the terminal and npm send a signal to this process. Two signals within this time count as one. */
const SAME_SIGNAL_MS = 1000;

export const demo: Command = {
  help: `usage: npm run demo                 until Ctrl-C
       npm run demo -- --for 10s   for that long (30s, 5min, 1h); exit 0 only if every answer was right

PORT (8080) and ADMIN_PORT (9464) are where the proxy listens; if one is in use, two that are free.
REDIS_URL is the Redis it works with; without it memory is used alone.

example:
  PORT=9000 npm run demo -- --for 1min

exit codes: 0 every answer was right, 1 one was not, 64 wrong command line, 69 not in this installation, 78 wrong settings`,

  async run(args, { env }) {
    const { values, positionals } = readOptions(args, { for: { type: 'string' } });
    expectNoMore(positionals);
    const forMs = values.for === undefined ? Number.POSITIVE_INFINITY : readDuration(values.for);
    // Only the variables that the help names are used. The others are for a real proxy.
    const { PORT, ADMIN_PORT, REDIS_URL } = env;
    const { http, redis } = loadSettings({ UPSTREAM_URL: 'http://127.0.0.1', PORT, ADMIN_PORT, REDIS_URL }).settings;
    const { runDemo } = await loadDemo();
    const everyAnswerWasRight = await runDemo({
      port: http.port,
      adminPort: http.adminPort,
      redisUrl: redis.url,
      forMs,
      signal: untilEnded(),
      out: process.stdout,
    });
    // End at once: nothing that is still under way is needed.
    process.exit(everyAnswerWasRight ? EXIT.ok : EXIT.failed);
  },
};

function readDuration(text: string): number {
  const parsed = duration('100ms', '24h').safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`--for ${parsed.error.issues[0]?.message ?? 'is no duration'}`);
}

async function loadDemo() {
  try {
    return await import('../tools/demo/run-demo.ts');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UnavailableError(
      'the demo and its simulated indexer are not part of the installed package: run "npm ci && npm run demo" in a checkout of the repository',
    );
  }
}

/** Aborted with what ended the demo, in words. The first signal ends it in good order, a second one at once. */
function untilEnded(): AbortSignal {
  const ending = new AbortController();
  let signalledAt = Number.POSITIVE_INFINITY;
  const endBy = (what: string) => {
    const now = performance.now();
    if (now - signalledAt > SAME_SIGNAL_MS) process.exit(1);
    signalledAt = Math.min(signalledAt, now);
    ending.abort(what);
  };
  process.on('SIGINT', () => endBy('Ctrl-C'));
  process.on('SIGTERM', () => endBy('SIGTERM'));
  process.on('SIGHUP', () => endBy('its terminal'));
  // The reader of the output has gone (`| head`).
  process.stdout.on('error', () => ending.abort('its reader'));
  return ending.signal;
}
