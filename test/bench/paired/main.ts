import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { exitOnSignals } from '../../support/launch.ts';
import { startRedis } from '../../support/redis-server.ts';
import { serveFakeIndexer } from '../peers/fake-indexer.ts';
import { FIRST_MISS_SEQNO, missPattern } from '../peers/targets.ts';
import { describeMachine, markdownTable, quantilesOf } from '../support/report.ts';
import { connectClients } from './clients.ts';

// `npm run bench:paired -- <checkout> ...`: CPU time per miss of several checkouts, with memory only and with Redis.
// All run in this process, together with the clients and the indexer, and get their requests in turn in short slices,
// so that all meet the same noise. The time of clients and indexer is measured without toncache, and subtracted. Shows
// a difference of 3 % on a busy machine. `--only memory,redis`, `--size 2,20` and `--gzip no,yes` select; `--misses`:
// for each checkout and case.

const SLICE = 64;
/**
 * The wait after the answers of a slice: writes to Redis and gzip go on in the background, and count for their slice.
 */
const SETTLE_MS = 10;
/** The misses of each checkout that begin each case and are not measured: Node compiles hot code during them. */
const WARM_UP = 10_000;
/** Small, so that eviction begins during the warm-up. */
const MEMORY = '32MiB';

const { values, positionals: checkouts } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: 'memory,redis' },
    size: { type: 'string', default: '2,20' },
    gzip: { type: 'string', default: 'no,yes' },
    misses: { type: 'string', default: '20000' },
  },
});

/** A measured subject: clients and indexer `alone`, or with a toncache between them. */
interface Measured {
  readonly name: string;
  readonly url: string;
}

/** CPU time of a miss in one slice, in microseconds. */
interface Slice {
  readonly mainThread: number;
  readonly allThreads: number;
}

exitOnSignals();
const indexerUrl = await serveFakeIndexer();
await using stack = new AsyncDisposableStack();
const all: Measured[] = [{ name: 'clients and indexer alone', url: indexerUrl }];
for (const checkout of checkouts) {
  for (const tiers of values.only.split(',')) all.push(await startHere(checkout, tiers));
}
/** The number of the last miss: each miss has its own key. */
let misses = 0;
const rows: string[][] = [];
for (const sizeKb of values.size.split(',').map(Number)) {
  for (const gzip of values.gzip.split(',')) rows.push(...(await measureCase(sizeKb, gzip === 'yes')));
}
console.log(`${describeMachine()}, ${values.misses} misses of each\n`);
const micros = ['µs, main thread', 'of the first', 'µs, all threads', 'of the first'];
console.log(markdownTable(['CPU time per miss', ...micros], rows));
await stack.disposeAsync();
// The connections of the clients and the port of the indexer are still open.
process.exit();

async function startHere(checkout: string, tiers: string): Promise<Measured> {
  const from = (path: string) => import(join(resolve(checkout), path));
  const { createApp }: typeof import('../../../src/app.ts') = await from('src/app.ts');
  const { loadSettings }: typeof import('../../../src/config/load.ts') = await from('src/config/load.ts');
  const { createLogger }: typeof import('../../../src/operate/logger.ts') = await from('src/operate/logger.ts');
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), 'toncache-paired-')));
  const configFile = join(folder.path, 'config.json');
  // Here a slow turn of the event loop must not count as a fault of Redis.
  await writeFile(configFile, JSON.stringify({ redis: { budget: '1s' }, memory: { maxSize: MEMORY } }));
  const environment: Record<string, string> = { UPSTREAM_URL: indexerUrl, CONFIG_FILE: configFile };
  if (tiers === 'redis') {
    const args = ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'];
    environment['REDIS_URL'] = stack.use(await startRedis({ args })).url;
  }
  const { settings } = loadSettings({ ...environment, PORT: '0', ADMIN_PORT: '0' });
  const app = await createApp({ logger: createLogger('error') }, settings);
  const { publicUrl } = await app.listen();
  stack.defer(() => app.close());
  return { name: `${basename(resolve(checkout))}, ${tiers}`, url: publicUrl };
}

async function measureCase(sizeKb: number, gzip: boolean): Promise<string[][]> {
  const headers = gzip ? 'Accept-Encoding: gzip\r\n' : '';
  const groups = await Promise.all(
    all.map(async ({ name, url }) => ({ name, clients: await connectClients(url, headers), slices: [] as Slice[] })),
  );
  const pattern = missPattern({ sizeKb });
  for (let asked = 0; asked < WARM_UP + Number(values.misses); asked += SLICE) {
    for (const { clients, slices } of groups) {
      const targets = Array.from({ length: SLICE }, () => nextTarget(pattern));
      const [thread, process_] = [process.threadCpuUsage(), process.cpuUsage()];
      await clients.ask(targets);
      await delay(SETTLE_MS);
      const [mainThread, allThreads] = [process.threadCpuUsage(thread), process.cpuUsage(process_)];
      const perMiss = ({ user, system }: NodeJS.CpuUsage) => (user + system) / SLICE;
      if (asked >= WARM_UP) slices.push({ mainThread: perMiss(mainThread), allThreads: perMiss(allThreads) });
    }
  }
  const [alone, first] = groups;
  /** Times of each slice, less the time of clients and indexer alone in the slice before it. */
  const timesOf = (group: typeof alone, of: keyof Slice) =>
    group?.slices.map((slice, number) => slice[of] - (group === alone ? 0 : (alone?.slices[number]?.[of] ?? 0))) ?? [];
  return groups.map((group) => [
    `${sizeKb} KB${gzip ? ', gzip' : ''}: ${group.name}`,
    ...(['mainThread', 'allThreads'] as const).flatMap((of) => {
      const [times, firstTimes] = [timesOf(group, of), timesOf(first, of)];
      const ratios = times.map((time, number) => time / (firstTimes[number] ?? Number.NaN));
      return [quantilesOf(times, 1)(0.5), group === alone ? '' : quantilesOf(ratios, 3)(0.5)];
    }),
  ]);
}

function nextTarget(pattern: string): string {
  misses++;
  return pattern
    .replace('{seqno}', String(FIRST_MISS_SEQNO - misses))
    .replace('{hex}', misses.toString(16).padStart(62, '0'));
}
