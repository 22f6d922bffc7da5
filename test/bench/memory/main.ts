import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exitOnSignals } from '../../support/launch.ts';
import { numberUpTo } from '../arguments.ts';
import { describeMachine } from '../machine.ts';
import { markdownTable } from '../markdown-table.ts';
import { EVERY_CORE } from '../peers/pinned-process.ts';
import { startFakeIndexer } from '../peers/start-fake-indexer.ts';
import { startToncachePeer } from '../peers/toncache.ts';
import { checkKept, fill } from './fill.ts';

// `npm run bench:memory`: fills toncache with answers of one size and measures how much its resident memory grows, and how
// much it has when more was written than its bound. Some minutes, everything on 127.0.0.1. Needs Linux. `--percent 10`
// fills a tenth.

/** About 200 MB each. */
const FILLS = [
  { sizeKb: 2, entries: 100_000 },
  { sizeKb: 5, entries: 40_000 },
  { sizeKb: 30, entries: 8000 },
];
/** More than all entries need, so that none is evicted. */
const ROOMY = '2GiB';
/** Of these far more is written than fits: about 600 MB each. */
const FULL = [
  { sizeKb: 2, entries: 320_000, maxSize: '256MiB' },
  { sizeKb: 5, entries: 110_000, maxSize: '64MiB' },
  { sizeKb: 5, entries: 110_000, maxSize: '256MiB' },
];
/** Entries that are filled before the first measurement, because a process grows when it first works; not counted. */
const WARM_UP_SHARE = 0.02;
const BETWEEN_LOOKS_MS = 1000;
const MOST_LOOKS = 30;
/** RSS has settled when three measurements in a row differ by less than this share of it. */
const SETTLED_SHARE = 0.005;
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Bytes: of all bodies, and resident in toncache. */
interface Filled {
  readonly bytes: number;
  readonly before: number;
  readonly after: number;
}

const { values } = parseArgs({ options: { percent: { type: 'string', default: '100' } } });
const percent = numberUpTo('--percent', values.percent, 1000);

exitOnSignals();

console.log(`${describeMachine()}\n`);
const rows: string[][] = [];
for (const { sizeKb, entries } of FILLS) {
  const count = share(entries);
  const { bytes, before, after } = await measure(sizeKb, count, ROOMY, checkKept);
  rows.push([`${sizeKb}`, `${count}`, mib(bytes), mib(before), mib(after), ((after - before) / bytes).toFixed(2)]);
}
const head = ['KB', 'entries', 'payload MiB', 'RSS before MiB', 'RSS after MiB', 'added, over the payload'];
console.log(`${markdownTable(head, rows)}\n`);
const fullRows: string[][] = [];
for (const { sizeKb, entries, maxSize } of FULL) {
  const { bytes, after } = await measure(sizeKb, share(entries), maxSize);
  fullRows.push([maxSize, `${sizeKb}`, mib(bytes), mib(after)]);
}
console.log(markdownTable(['MEMORY_MAX_SIZE', 'KB', 'written MiB', 'RSS MiB'], fullRows));

function share(entries: number): number {
  return Math.round((entries * percent) / 100);
}

function mib(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(0);
}

async function measure(sizeKb: number, entries: number, maxSize: string, check?: typeof checkKept): Promise<Filled> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'toncache-memory-'));
  const own = { cores: EVERY_CORE, folder: folder.path };
  await using indexer = await startFakeIndexer(EVERY_CORE, folder.path);
  const environment = { MEMORY_MAX_SIZE: maxSize };
  await using server = await startToncachePeer({ ...own, source: ROOT, indexerPort: indexer.port, environment });
  const origin = server.originFor({ title: '', kind: 'hits', sizeKb, urls: 1, gzip: false });
  const place = { port: Number(new URL(origin ?? '').port), indexerPort: indexer.port, sizeKb };
  const warmUp = Math.ceil(entries * WARM_UP_SHARE);
  await fill({ ...place, from: 0, until: warmUp });
  const before = await settledRss(server.pid);
  const order = { ...place, from: warmUp, until: warmUp + entries };
  const bytes = await fill(order);
  await check?.(order);
  return { bytes, before, after: await settledRss(server.pid) };
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
