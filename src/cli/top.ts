import { setTimeout as sleep } from 'node:timers/promises';
import { AdminClient } from './admin-client.ts';
import { type Command, EXIT } from './command.ts';
import { MetricsPage } from './metrics-text.ts';
import { adminUrl, expectNoMore, readOptions, readSettings, wholeNumber } from './options.ts';
import { topScreen } from './top-screen.ts';

/** Clears a terminal and puts the cursor into its corner. */
const CLEAR = '\x1b[H\x1b[2J';

export const top: Command = {
  help: `usage: toncache top [--once] [--interval SECONDS] [--admin URL]

Shows what a running instance does, from its metrics: requests by how they were answered, the indexer, memory. On a
terminal every second until Ctrl-C; elsewhere, and with --once, one time with averages since the instance started.

  --once       one time
  --interval   seconds between two looks, 1 to 3600 (1)
  --admin      the admin port; by default that of the settings

For programs there is the page itself: GET /metrics of the admin port.

example:
  toncache top --admin http://10.0.0.7:9464

exit codes: 0 ended, 64 wrong command line, 69 no answer, 78 wrong settings`,

  async run(args, context) {
    const { values, positionals } = readOptions(args, {
      once: { type: 'boolean', default: false },
      interval: { type: 'string', default: '1' },
      admin: { type: 'string' },
    });
    expectNoMore(positionals);
    const intervalMs = 1000 * wholeNumber('--interval', values.interval, 1, 3600);
    const settings = readSettings(context);
    const client = new AdminClient({ url: adminUrl(values.admin, settings), token: settings.http.adminToken });
    const { stdout } = context;
    let before: { readonly page: MetricsPage; readonly at: number } | undefined;
    for (;;) {
      const page = new MetricsPage((await client.get('/metrics')).text);
      const at = performance.now();
      const betweenMs = before === undefined ? 0 : at - before.at;
      const screen = topScreen({ url: client.url, page, before: before?.page, betweenMs, now: Date.now() });
      if (values.once || !stdout.isTTY) {
        stdout.write(screen);
        return EXIT.ok;
      }
      stdout.write(CLEAR + screen);
      before = { page, at };
      const goesOn = await sleep(intervalMs, true, { signal: context.signal }).catch(() => false);
      if (!goesOn) return EXIT.ok;
    }
  },
};
