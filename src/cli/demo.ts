import { Agent, setGlobalDispatcher } from 'undici';
import { loadSettings } from '../config/load.ts';
import { duration } from '../config/values.ts';
import { runDemo } from '../tools/demo/run-demo.ts';
import { type Command, EXIT } from './command.ts';
import { optionOf, readOptions } from './options.ts';

export const demo: Command = {
  help: `usage: npm run demo                 until Ctrl-C
       npm run demo -- --for 10s   for that long (30s, 5min, 1h); exit 0 only if every response was right

The proxy listens on PORT (8080) and ADMIN_PORT (9464). If either is in use, the demo takes two free ports.
It uses the Redis in REDIS_URL, or without REDIS_URL only memory.

example:
  PORT=9000 npm run demo -- --for 1min

exit codes: 0 every response was right, 1 a response was wrong, 64 wrong command line, 69 not in this installation, 78 wrong settings`,

  async run(args, { env, signal }) {
    const { values } = readOptions(args, { for: { type: 'string' } });
    const forMs =
      values.for === undefined ? Number.POSITIVE_INFINITY : optionOf('--for', values.for, duration('100ms', '24h'));
    // Only the variables in the help are used. The others are for a real proxy.
    const { PORT, ADMIN_PORT, REDIS_URL } = env;
    const { http, redis } = loadSettings({ UPSTREAM_URL: 'http://127.0.0.1', PORT, ADMIN_PORT, REDIS_URL }).settings;
    // Its clients send requests on this machine, not through HTTP_PROXY, as Node's own dispatcher may
    // (NODE_USE_ENV_PROXY=1).
    setGlobalDispatcher(new Agent());
    const everyAnswerWasRight = await runDemo({
      port: http.port,
      adminPort: http.adminPort,
      redisUrl: redis.url,
      forMs,
      signal,
      out: process.stdout,
    });
    // Ends immediately: nothing that is still under way is needed.
    process.exit(everyAnswerWasRight ? EXIT.ok : EXIT.failed);
  },
};
