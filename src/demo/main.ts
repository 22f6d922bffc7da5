import { parseArgs } from 'node:util';
import { loadSettings, SettingsError } from '../config/load.ts';
import type { Settings } from '../config/schema.ts';
import { duration } from '../config/values.ts';
import { runDemo } from './run-demo.ts';
import { Screen } from './screen.ts';

const USAGE = `usage: npm run demo                 until Ctrl-C
       npm run demo -- --for 10s   for that long (30s, 5min, 1h); exit 0 only if every answer was right

PORT (8080) and ADMIN_PORT (9464) are where the proxy listens; if one is in use, the next free one.
REDIS_URL is the Redis it works with; without it a redis-server on PATH is started, or memory is used alone.`;

/** EX_USAGE and EX_CONFIG of sysexits.h. */
const EXIT_USAGE = 64;
const EXIT_CONFIG = 78;

/** npm passes Ctrl-C on to a process that has it from the terminal already: only a later one is a second one. */
const SAME_SIGNAL_MS = 1000;

const forMs = readFlags(process.argv.slice(2));
const { http, redis } = readSettings();
const screen = new Screen(process.stdout);
const ending = new AbortController();
let signalledAt = Number.POSITIVE_INFINITY;

process.on('SIGINT', () => endBy('Ctrl-C'));
process.on('SIGTERM', () => endBy('SIGTERM'));
process.on('SIGHUP', () => endBy('its terminal'));
// Whoever read our lines has left (`| head`).
process.stdout.on('error', () => ending.abort('its reader'));

try {
  const everyAnswerWasRight = await runDemo({
    port: http.port,
    adminPort: http.adminPort,
    redisUrl: redis.url,
    searchPath: process.env['PATH'] ?? '',
    forMs,
    signal: ending.signal,
    screen,
  });
  process.exit(everyAnswerWasRight ? 0 : 1);
} catch (error) {
  console.error('the demo cannot go on:', error);
  process.exit(1);
}

/** The first signal ends the demo in good order, a second one at once. */
function endBy(signal: string): void {
  const now = performance.now();
  if (now - signalledAt > SAME_SIGNAL_MS) process.exit(1);
  signalledAt = Math.min(signalledAt, now);
  ending.abort(signal);
}

function readFlags(args: string[]): number {
  try {
    const { values } = parseArgs({ args, options: { for: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    if (values.for === undefined) return Number.POSITIVE_INFINITY;
    const parsed = duration('100ms', '24h').safeParse(values.for);
    if (parsed.success) return parsed.data;
    return refuse(`--for ${parsed.error.issues[0]?.message ?? 'is no duration'}`);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(problem: string): never {
  console.error(`${problem}\n\n${USAGE}`);
  process.exit(EXIT_USAGE);
}

/** Of the environment only what the usage names: the rest is for a real proxy. */
function readSettings(): Settings {
  const { PORT, ADMIN_PORT, REDIS_URL } = process.env;
  try {
    return loadSettings({ UPSTREAM_URL: 'http://127.0.0.1', PORT, ADMIN_PORT, REDIS_URL }).settings;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    console.error(
      `the demo cannot start, these settings are wrong:\n${error.problems.map((it) => `  ${it}`).join('\n')}`,
    );
    process.exit(EXIT_CONFIG);
  }
}
