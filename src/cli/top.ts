import { setTimeout as sleep } from 'node:timers/promises';
import { integer } from '../config/values.ts';
import type { StatusMessage } from '../operate/status/status-pages.ts';
import { duration, textTable } from '../operate/text-table.ts';
import { AdminClient } from './admin-client.ts';
import { type Command, type Context, EXIT } from './command.ts';
import { optionOf, readOptions, readSettings } from './options.ts';

/** Clears a terminal and moves the cursor to its corner. */
const CLEAR = '\x1b[H\x1b[2J';

const LOOK_EVERY_MS = 1000;

export const top: Command = {
  help: `usage: toncache top [--count N] [--admin URL] [--json]

Shows the numbers of the status page of a running instance: the state in one line, requests by outcome, the
indexer, memory. On a terminal every second until q or Ctrl-C; elsewhere once.

  --count   how often, 1 to 1000000
  --admin   the admin port; by default that of the settings
  --json    a line of JSON each second; without --count until Ctrl-C

example:
  toncache top --json --count 60 --admin http://10.0.0.7:9464

exit codes: 0 ended, 64 wrong command line, 69 no answer, 78 wrong settings`,

  async run(args, context) {
    const { values } = readOptions(args, {
      count: { type: 'string' },
      admin: { type: 'string' },
      json: { type: 'boolean', default: false },
    });
    const { stdout, signal } = context;
    const given = values.count === undefined ? undefined : optionOf('--count', values.count, integer(1, 1_000_000));
    const isEndless = values.json || stdout.isTTY === true;
    let remaining = given ?? (isEndless ? Number.POSITIVE_INFINITY : 1);
    const clear = remaining > 1 && stdout.isTTY ? CLEAR : '';
    const client = new AdminClient(values.admin, readSettings(context));
    using keys = endedByKey(clear === '' ? undefined : context.stdin);
    const ended = AbortSignal.any([signal, keys.signal]);
    while (!ended.aborted) {
      const answer = await client.askJson<StatusMessage>('/status.json', { signal: ended }).catch((error: unknown) => {
        if (!ended.aborted) throw error;
      });
      if (answer === undefined) break;
      const { text, reply: message } = answer;
      // The first second of a process has no rates: they are counted from one second to the next.
      if (message.rates !== undefined) {
        stdout.write(values.json ? `${text}\n` : clear + screen(client.url, message));
        if (--remaining === 0) break;
      }
      await sleep(LOOK_EVERY_MS, undefined, { signal: ended }).catch(() => {});
    }
    return EXIT.ok;
  },
};

/** Ends by q or Ctrl-C on a terminal, which then must not wait for whole lines. */
function endedByKey(stdin: Context['stdin']): Disposable & { readonly signal: AbortSignal } {
  const ended = new AbortController();
  if (stdin?.isTTY !== true) return { signal: ended.signal, [Symbol.dispose]: () => {} };
  const onKey = (key: Buffer) => {
    if (['q', '\x03'].includes(key.toString())) ended.abort();
  };
  stdin.setRawMode(true);
  stdin.on('data', onKey);
  return {
    signal: ended.signal,
    [Symbol.dispose]: () => {
      stdin.off('data', onKey);
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
}

/** At most 80 columns and 24 lines, the most important first. */
function screen(url: string, message: StatusMessage): string {
  const { about, at, verdict, hitRatio, savedRatio, latency, upstream, memory, process, redis } = message;
  const rates: Readonly<Record<string, number>> = message.rates ?? {};
  const all = Object.values(rates).reduce((sum, rate) => sum + rate, 0);
  const outcomes = Object.entries(rates).map(([outcome, rate]) => [outcome, rate.toFixed(1), share(rate / (all || 1))]);
  const rows = [
    ['hits, saved', `${share(hitRatio)}, ${share(savedRatio)}`],
    ['clients p50, p99', `${seconds(latency.p50Seconds)}, ${seconds(latency.p99Seconds)}`],
    ['indexer p50, p99', `${seconds(upstream.p50Seconds)}, ${seconds(upstream.p99Seconds)}`],
    ['slots, waiting', `${upstream.inFlight} of ${upstream.limit}, ${upstream.queued}`],
    ['breakers, pause', closedIn(message)],
    ['newest block', blockOf(message.newestSeqno, message.newestAgeSeconds)],
    ['Redis', redis],
    ['memory tier', `${mebibytes(memory.bytes)}, ${memory.entries.toLocaleString('en')} entries`],
    ['evicted a second', memory.evictedPerSecond.toFixed(1)],
    ['process RSS, heap', `${mebibytes(process.rssBytes)}, ${mebibytes(process.heapBytes)}`],
    ['event loop lag p99', seconds(process.loopLagSeconds)],
  ];
  const since = verdict.cause === '' ? '' : ` for ${duration(at - verdict.since)}: ${verdict.cause}`;
  const steps = verdict.runbook === '' ? '' : `\nwhat to do: docs/incidents.md#${verdict.runbook}`;
  const also = verdict.also
    .map(({ summary, cause }) => `\nalso: ${summary === '' ? '' : `${summary}: `}${cause}`)
    .join('');
  const tables = [beside(textTable(['requests', 'a second', 'share'], outcomes), textTable(['now', ''], rows))];
  const indexers = message.upstreams.map(({ isBackup, state, lagBlocks, perSecond, failedPerSecond, ...is }) => [
    is.upstream,
    isBackup ? `${state} (backup)` : state,
    blockOf(is.seqno, is.ageSeconds),
    lagBlocks === undefined ? '?' : String(lagBlocks),
    perSecond.toFixed(1),
    failedPerSecond.toFixed(1),
  ]);
  if (indexers.length > 0) {
    tables.push(textTable(['indexer', 'state', 'newest block', 'behind', 'a second', 'failed'], indexers));
  }
  const clients = (message.clients ?? []).map(({ client, waiting, share: part }) => [
    client,
    String(waiting),
    share(part),
  ]);
  if (clients.length > 0) tables.push(textTable(['clients beyond memory', 'waiting', 'share'], clients.slice(0, 3)));
  const head = `toncache ${about.version} on ${about.host}, ${about.network}, at ${url}, ${timeOf(at)}`;
  return [`${head}\n${verdict.summary}${since}${also}${steps}\n`, ...tables].join('\n');
}

/** Two tables side by side. */
function beside(left: string, right: string): string {
  const [one, other] = [left, right].map((table) => table.trimEnd().split('\n'));
  const width = 2 + Math.max(...(one ?? []).map(({ length }) => length));
  const count = Math.max(one?.length ?? 0, other?.length ?? 0);
  const line = (_: unknown, index: number) => `${(one?.[index] ?? '').padEnd(width)}${other?.[index] ?? ''}`.trimEnd();
  return `${Array.from({ length: count }, line).join('\n')}\n`;
}

/** Closed paths: operations whose circuit breaker is open at an indexer, and the pause. */
function closedIn({ operations, upstream }: StatusMessage): string {
  const open = operations.flatMap(({ operation, breakersOpenAt }) => (breakersOpenAt.length > 0 ? [operation] : []));
  return [...open, ...(upstream.paused ? ['429'] : [])].join(', ') || 'none';
}

/** A block with its age; `?` for a value that is unknown because nobody requests the head. */
function blockOf(seqno: number | undefined, ageSeconds: number | undefined): string {
  if (seqno === undefined) return '?';
  if (ageSeconds === undefined) return `${seqno}, ?`;
  return `${seqno}, ${ageSeconds < 0 ? `${seconds(-ageSeconds)} ahead` : `${seconds(ageSeconds)} old`}`;
}

function timeOf(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB');
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
