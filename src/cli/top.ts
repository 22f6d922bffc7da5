import type { StatusNumbers } from '../operate/status/numbers.ts';
import type { ShownClient } from '../operate/status/top-clients.ts';
import { AdminClient } from './admin-client.ts';
import { type Command, EXIT, UsageError } from './command.ts';
import { adminUrl, expectNoMore, readOptions, readSettings, wholeNumber } from './options.ts';
import { duration, grouped, textTable } from './text-table.ts';

/** Clears a terminal and puts the cursor into its corner. */
const CLEAR = '\x1b[H\x1b[2J';

/** A message of `/status/events`. */
type StatusEvent = StatusNumbers & { readonly at: number; readonly clients?: readonly ShownClient[] };

export const top: Command = {
  help: `usage: toncache top [--once | --count N] [--admin URL] [--json]

Shows the numbers of the status page of a running instance: requests by how they are answered, the indexer, memory. On a
terminal every second until Ctrl-C; elsewhere once.

  --once    once
  --count   so many times, 1 to 1000000
  --admin   the admin port; by default that of the settings
  --json    a line of JSON each second; without --once or --count until Ctrl-C

example:
  toncache top --json --count 60 --admin http://10.0.0.7:9464

exit codes: 0 ended, 64 wrong command line, 69 no answer, 78 wrong settings`,

  async run(args, context) {
    const { values, positionals } = readOptions(args, {
      once: { type: 'boolean', default: false },
      count: { type: 'string' },
      admin: { type: 'string' },
      json: { type: 'boolean', default: false },
    });
    expectNoMore(positionals);
    if (values.once && values.count !== undefined) throw new UsageError('--once and --count exclude each other');
    const { stdout, signal } = context;
    const given = values.count === undefined ? undefined : wholeNumber('--count', values.count, 1, 1_000_000);
    const isEndless = !values.once && (values.json || stdout.isTTY === true);
    let left = given ?? (isEndless ? Number.POSITIVE_INFINITY : 1);
    const clear = left > 1 && stdout.isTTY ? CLEAR : '';
    const settings = readSettings(context);
    const client = new AdminClient({ url: adminUrl(values.admin, settings), token: settings.http.adminToken });
    for await (const data of client.events('/status/events', signal)) {
      const message: StatusEvent = JSON.parse(data);
      // The first message has no rates: they are counted from one message to the next.
      if (message.rates === undefined) continue;
      stdout.write(values.json ? `${data}\n` : clear + screen(client.url, message));
      if (--left === 0) break;
    }
    return EXIT.ok;
  },
};

function screen(url: string, { at, hitRatio, savedRatio, clients = [], ...numbers }: StatusEvent): string {
  const { upstream, memory, process, redis, stream, newestSeqno } = numbers;
  const rates: Readonly<Record<string, number>> = numbers.rates ?? {};
  const all = Object.values(rates).reduce((sum, rate) => sum + rate, 0);
  const outcomes = Object.entries(rates).map(([outcome, rate]) => [outcome, rate.toFixed(1), share(rate / (all || 1))]);
  const rows = [
    ['hits, last 10 s', share(hitRatio)],
    ['requests saved', share(savedRatio)],
    ['indexer p50, p99', `${seconds(upstream.p50Seconds)}, ${seconds(upstream.p99Seconds)}`],
    ['slots in use', `${upstream.inFlight} of ${upstream.limit}`],
    ['waiting, expected', `${upstream.queued}, ${seconds(upstream.expectedWaitSeconds)}`],
    ['breakers open', upstream.openBreakers.join(', ') || 'none'],
    ['paused by a 429', upstream.paused ? 'yes' : 'no'],
    ['memory tier', `${mebibytes(memory.bytes)} of ${mebibytes(memory.maxBytes)}`],
    ['entries in memory', grouped(memory.entries)],
    ['process RSS, heap', `${mebibytes(process.rssBytes)}, ${mebibytes(process.heapBytes)}`],
    ['event loop lag p99', seconds(process.loopLagSeconds)],
    ['Redis', redis],
    ['stream', stream],
    ['newest block', newestSeqno === undefined ? 'not known' : String(newestSeqno)],
  ];
  const head = `toncache at ${url}, ${new Date(at).toISOString()}\n`;
  const tables = [textTable(['requests'.padEnd(18), 'a second', 'share'], outcomes), textTable(['now', ''], rows)];
  const clientRows = clients.map(({ client, waiting, share: part }) => [client, String(waiting), share(part)]);
  if (clients.length > 0) tables.push(textTable(['clients beyond memory', 'waiting', 'share'], clientRows));
  return [head, ...tables].join('\n');
}

function share(part: number | undefined): string {
  return part === undefined ? '-' : `${(100 * part).toFixed(1)} %`;
}

function seconds(value: number | undefined): string {
  return value === undefined ? '-' : duration(1000 * value);
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
