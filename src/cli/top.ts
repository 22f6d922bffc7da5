import { setTimeout as sleep } from 'node:timers/promises';
import { Scrape } from '../status/scrape.ts';
import { AdminClient } from './admin-client.ts';
import { type Command, EXIT, UsageError } from './command.ts';
import { parseMetrics } from './metrics-text.ts';
import { adminUrl, expectNoMore, readOptions, readSettings, wholeNumber } from './options.ts';
import { topLine } from './top-line.ts';
import { topScreen } from './top-screen.ts';

/** Clears a terminal and puts the cursor into its corner. */
const CLEAR = '\x1b[H\x1b[2J';

/** Ratios and latencies cover so many milliseconds, as on the status page. */
const WINDOW_MS = 10_000;

export const top: Command = {
  help: `usage: toncache top [--once | --count N] [--interval SECONDS] [--admin URL] [--json]

Shows what a running instance does, from its metrics: requests by how they were answered, the indexer, memory. On a
terminal every second until Ctrl-C; elsewhere once. The first sample shows averages since the instance started.

  --once       one sample
  --count      so many samples, 1 to 1000000
  --interval   seconds between two samples, 1 to 3600 (1)
  --admin      the admin port; by default that of the settings
  --json       a line of JSON for each sample; without --once or --count until Ctrl-C:
               {"at","url","upSeconds","rateSeconds","rates","hitRatio","savedRatio","upstream","memory","process","redis","stream","newestSeqno"}

example:
  toncache top --json --count 60 --admin http://10.0.0.7:9464

exit codes: 0 ended, 64 wrong command line, 69 no answer, 78 wrong settings`,

  async run(args, context) {
    const { values, positionals } = readOptions(args, {
      once: { type: 'boolean', default: false },
      count: { type: 'string' },
      interval: { type: 'string', default: '1' },
      admin: { type: 'string' },
      json: { type: 'boolean', default: false },
    });
    expectNoMore(positionals);
    if (values.once && values.count !== undefined) throw new UsageError('--once and --count exclude each other');
    const { stdout } = context;
    const given = values.count === undefined ? undefined : wholeNumber('--count', values.count, 1, 1_000_000);
    const isEndless = !values.once && (values.json || stdout.isTTY === true);
    const looks = given ?? (isEndless ? Number.POSITIVE_INFINITY : 1);
    const intervalMs = 1000 * wholeNumber('--interval', values.interval, 1, 3600);
    const settings = readSettings(context);
    const client = new AdminClient({ url: adminUrl(values.admin, settings), token: settings.http.adminToken });
    let scrapes: readonly Scrape[] = [];
    for (let look = 1; ; look++) {
      const page = new Scrape(parseMetrics((await client.get('/metrics')).text), performance.now());
      const before = scrapes.at(-1);
      const shown = { url: client.url, page, now: Date.now() };
      if (values.json) {
        stdout.write(topLine({ ...shown, earlier: scrapes }));
      } else {
        const screen = topScreen({ ...shown, before, betweenMs: before === undefined ? 0 : page.at - before.at });
        stdout.write(looks > 1 && stdout.isTTY ? CLEAR + screen : screen);
      }
      if (look >= looks) return EXIT.ok;
      scrapes = [...scrapes.filter(({ at }) => page.at - at < WINDOW_MS), page];
      const goesOn = await sleep(intervalMs, true, { signal: context.signal }).catch(() => false);
      if (!goesOn) return EXIT.ok;
    }
  },
};
