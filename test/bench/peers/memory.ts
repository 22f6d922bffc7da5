import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Connections } from '../support/connections.ts';
import { startToncache } from '../support/processes.ts';
import { markdownTable } from '../support/report.ts';
import { startFakeIndexer } from './fake-indexer.ts';
import { hitTarget } from './targets.ts';

/** About 200 MB each, with a bound that evicts nothing. */
const FILLS = [
  { sizeKb: 2, entries: 100_000, maxSize: '2GiB' },
  { sizeKb: 5, entries: 40_000, maxSize: '2GiB' },
  { sizeKb: 30, entries: 8000, maxSize: '2GiB' },
];
/** Far more of these is written than fits: about 600 MB each. */
const FULL = [
  { sizeKb: 2, entries: 320_000, maxSize: '256MiB' },
  { sizeKb: 5, entries: 110_000, maxSize: '64MiB' },
  { sizeKb: 5, entries: 110_000, maxSize: '256MiB' },
];
/** Entries that are written before the first measurement, because a process grows with its first work; not counted. */
const WARM_UP_SHARE = 0.02;
const CONNECTIONS = 32;
/** Answers that are requested once more afterwards; they must be hits. */
const CHECKED = 500;
const BETWEEN_LOOKS_MS = 1000;
const MOST_LOOKS = 30;
/** RSS has settled when three measurements in a row differ by less than this share of it. */
const SETTLED_SHARE = 0.005;

type Filling = (typeof FILLS)[number];

const mib = (bytes: number) => (bytes / 1024 ** 2).toFixed(0);

/**
 * Fills toncache with answers of one size. Two tables: by how much its resident memory grows, and how much it has after
 * more was written than its bound. `percent` of the full size, 1 to 100. Takes some minutes.
 */
export async function memoryTables(percent: number): Promise<string> {
  const part = (filling: Filling) => ({ ...filling, entries: Math.round((filling.entries * percent) / 100) });
  const rows: string[][] = [];
  for (const filling of FILLS.map(part)) {
    const { bytes, before, after, keptShare } = await measure(filling);
    if (keptShare < 0.99) throw new Error(`of ${filling.sizeKb} KB only ${keptShare} of the answers were kept`);
    const sizes = [bytes, before, after].map(mib);
    rows.push([`${filling.sizeKb}`, `${filling.entries}`, ...sizes, ((after - before) / bytes).toFixed(2)]);
  }
  const fullRows: string[][] = [];
  for (const filling of FULL.map(part)) {
    const { bytes, after } = await measure(filling);
    fullRows.push([filling.maxSize, `${filling.sizeKb}`, mib(bytes), mib(after)]);
  }
  const head = ['KB', 'entries', 'payload MiB', 'RSS before MiB', 'RSS after MiB', 'added, over the payload'];
  const fullHead = ['MEMORY_MAX_SIZE', 'KB', 'written MiB', 'RSS MiB'];
  return `${markdownTable(head, rows)}\n\n${markdownTable(fullHead, fullRows)}`;
}

/** Bytes: of all bodies, and resident in toncache; how many of the checked answers were hits, 0 to 1. */
async function measure({ sizeKb, maxSize, entries: count }: Filling) {
  await using indexer = await startFakeIndexer();
  await using server = await startToncache({ UPSTREAM_URL: indexer.url, MEMORY_MAX_SIZE: maxSize });
  const connections = new Connections(server.port);
  const all = Array.from({ length: Math.ceil(count * (1 + WARM_UP_SHARE)) }, (_, number) => number);
  const numbers = all.slice(0, count);
  await request(connections, sizeKb, all.slice(count));
  const before = await settledRss(server.pid);
  const { bytes } = await request(connections, sizeKb, numbers);
  const checked = numbers.filter((number) => number % Math.ceil(count / CHECKED) === 0);
  const { hits } = await request(connections, sizeKb, checked);
  const after = await settledRss(server.pid);
  connections.close();
  return { bytes, before, after, keptShare: hits / checked.length };
}

/** Requests the answers of these numbers, the last one first. Rejects when a request fails. */
async function request(connections: Connections, sizeKb: number, numbers: readonly number[]) {
  const waiting = [...numbers];
  const counted = { bytes: 0, hits: 0 };
  const client = async () => {
    for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
      const { status, body, isHit } = await connections.ask(hitTarget({ sizeKb }, number));
      if (status !== 200) throw new Error(`status ${status}: ${body.slice(0, 100)}`);
      counted.bytes += body.length;
      if (isHit) counted.hits++;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return counted;
}

/** The resident memory of a process, in bytes, once it has settled, or after 30 s as it is. */
async function settledRss(pid: number): Promise<number> {
  const seen: number[] = [];
  for (;;) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const now = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
    seen.push(now);
    const last = seen.slice(-3);
    const hasSettled = last.length === 3 && Math.max(...last) - Math.min(...last) < now * SETTLED_SHARE;
    if (hasSettled || seen.length === MOST_LOOKS) return now;
    await delay(BETWEEN_LOOKS_MS);
  }
}
