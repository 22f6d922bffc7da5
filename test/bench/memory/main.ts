import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeMachine } from '../machine.ts';
import { markdownTable } from '../markdown-table.ts';
import { freePort, PinnedProcess } from '../peers/pinned-process.ts';
import { startToncachePeer } from '../peers/toncache.ts';
import { checkKept, fill } from './fill.ts';
import { settledRss } from './rss.ts';
import { measureTiers, TIER_HEAD } from './tier.ts';

// `npm run bench:memory`: fills toncache with answers of one size and measures how much its resident memory grows; how much it
// has when more was written than its bound; and the growth of the memory tier alone, with bodies as they are and with gzip.
// Some minutes, everything on 127.0.0.1. Needs Linux. `--tier` leaves all but the last out.

/** About 200 MB each; `--percent 10` fills a tenth of that. */
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
const MIB = 1024 * 1024;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FAKE_INDEXER = fileURLToPath(new URL('../peers/fake-indexer.ts', import.meta.url));
const EVERY_CORE = `0-${availableParallelism() - 1}`;

const { values } = parseArgs({
  options: { percent: { type: 'string', default: '100' }, tier: { type: 'boolean', default: false } },
});
const percent = Number(values.percent);
if (!(percent >= 1 && percent <= 1000)) throw new Error('--percent accepts a number from 1 to 1000');

// Exit on a signal: the exit handlers end the servers, which a signal alone would leave running.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const machine = describeMachine();
console.log(`${machine.cpu}, ${machine.system}, Node ${machine.node}, ${new Date().toISOString().slice(0, 10)}\n`);
if (!values.tier) {
  const rows: string[][] = [];
  for (const { sizeKb, entries } of FILLS) {
    const { bytes, before, after } = await measure(sizeKb, share(entries), ROOMY, checkKept);
    const added = ((after - before) / bytes).toFixed(2);
    rows.push([String(sizeKb), String(share(entries)), mib(bytes), mib(before), mib(after), added]);
  }
  const head = ['KB', 'entries', 'payload MiB', 'RSS before MiB', 'RSS after MiB', 'added, over the payload'];
  console.log(`${markdownTable(head, rows)}\n`);
  const fullRows: string[][] = [];
  for (const { sizeKb, entries, maxSize } of FULL) {
    const { bytes, after } = await measure(sizeKb, share(entries), maxSize);
    fullRows.push([maxSize, String(sizeKb), mib(bytes), mib(after)]);
  }
  console.log(`${markdownTable(['MEMORY_MAX_SIZE', 'KB', 'written MiB', 'RSS MiB'], fullRows)}\n`);
}
console.log(markdownTable(TIER_HEAD, await measureTiers(percent)));

function share(entries: number): number {
  return Math.round((entries * percent) / 100);
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(0);
}

interface Filled {
  /** Of all bodies. */
  readonly bytes: number;
  /** Resident bytes of toncache. */
  readonly before: number;
  readonly after: number;
}

async function measure(sizeKb: number, entries: number, maxSize: string, check?: typeof checkKept): Promise<Filled> {
  const folder = await mkdtemp(join(tmpdir(), 'toncache-memory-'));
  try {
    const indexerPort = await freePort();
    await using _indexer = await PinnedProcess.start({
      cores: EVERY_CORE,
      program: process.execPath,
      args: [FAKE_INDEXER, String(indexerPort)],
      cwd: folder,
      environment: {},
      port: indexerPort,
      logFile: join(folder, 'indexer.log'),
    });
    await using server = await startToncachePeer({
      name: 'toncache',
      source: ROOT,
      cores: EVERY_CORE,
      indexerPort,
      folder,
      environment: { MEMORY_MAX_SIZE: maxSize },
    });
    const port = Number(new URL(server.placeOf({ kind: 'hits', sizeKb, urls: 1, gzip: false })?.origin ?? '').port);
    const warmUp = Math.ceil(entries * WARM_UP_SHARE);
    await fill({ port, indexerPort, sizeKb, from: 0, until: warmUp });
    const before = await settledRss(server.pid);
    const order = { port, indexerPort, sizeKb, from: warmUp, until: warmUp + entries };
    const bytes = await fill(order);
    await check?.(order);
    return { bytes, before, after: await settledRss(server.pid) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
