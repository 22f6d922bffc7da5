import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startRedis } from '../support/redis-server.ts';
import { launch, textIn } from './launch.ts';
import { describeMachine } from './machine.ts';
import { markdownTable } from './markdown-table.ts';
import { type Hits, measureHits } from './measure-hits.ts';
import { type Misses, measureMisses } from './measure-misses.ts';
import { SIZES_KB } from './sized-calls.ts';
import { startToncache } from './toncache-process.ts';

// `npm run bench`: about a minute, everything on 127.0.0.1. With `-- --profile` CPU profiles of the servers are written
// beside the results, and the figures are a little worse.

const RESULTS = fileURLToPath(new URL('../../bench-results/', import.meta.url));
const { values } = parseArgs({ options: { profile: { type: 'boolean', default: false } } });
const nodeArgs = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${RESULTS}`] : [];

// The processes of the bench are killed when this one exits; a signal alone would let them be.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const EVERY_HIT_FROM_REDIS = { redis: { budget: '1s' }, lifetimes: { adjacentGrowing: { memoryTtl: '0ms' } } };

const machine = describeMachine();
console.log(`${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${machine.system}; a minute...\n`);
await mkdir(RESULTS, { recursive: true });

await using indexer = launch(new URL('./sized-indexer.ts', import.meta.url));
const indexerUrl = await indexer.next(textIn('url'));
const hits = [...(await memoryHits()), ...(await redisHits())];
const misses = await missesOf();

console.log(tableOfHits(hits));
console.log(`\n${tableOfMisses(misses)}`);
const file = join(RESULTS, `${new Date().toISOString().replaceAll(':', '-')}.json`);
await writeFile(file, `${JSON.stringify({ machine, hits, misses }, undefined, 2)}\n`);
console.log(`\nsaved in ${file}`);

async function memoryHits(): Promise<Hits[]> {
  await using server = await startToncache({ UPSTREAM_URL: indexerUrl }, nodeArgs);
  const rows: Hits[] = [];
  for (const sizeKb of SIZES_KB) rows.push(await measureHits(server, 'memory', sizeKb));
  return rows;
}

/**
 * Every hit is made to ask Redis first, though memory holds the entry as well; with a budget that a saturated machine
 * keeps too, or the circuit breaker of Redis would open now and then and memory measured instead.
 */
async function redisHits(): Promise<Hits[]> {
  return withConfig(EVERY_HIT_FROM_REDIS, async (CONFIG_FILE) => {
    await using redis = await startRedis();
    const settings = { UPSTREAM_URL: indexerUrl, REDIS_URL: redis.url, CONFIG_FILE };
    await using server = await startToncache(settings, nodeArgs);
    const rows: Hits[] = [];
    for (const sizeKb of SIZES_KB) rows.push(await measureHits(server, 'redis', sizeKb));
    return rows;
  });
}

async function withConfig<T>(config: object, use: (file: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'toncache-bench-'));
  try {
    const file = join(directory, 'config.json');
    await writeFile(file, JSON.stringify(config));
    return await use(file);
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function missesOf(): Promise<Misses[]> {
  await using server = await startToncache({ UPSTREAM_URL: indexerUrl }, nodeArgs);
  const rows: Misses[] = [];
  for (const sizeKb of SIZES_KB) rows.push(await measureMisses(indexerUrl, server.url, sizeKb));
  return rows;
}

function tableOfHits(rows: readonly Hits[]): string {
  return markdownTable(
    ['hits', 'KB', 'hits/s', 'p50 ms', 'p99 ms', 'CPU µs/hit'],
    rows.map(({ tier, sizeKb, hitsPerSecond, p50Ms, p99Ms, cpuMicrosPerHit }) => [
      tier,
      `${sizeKb}`,
      hitsPerSecond.toFixed(0),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      cpuMicrosPerHit.toFixed(1),
    ]),
  );
}

function tableOfMisses(rows: readonly Misses[]): string {
  return markdownTable(
    ['misses (medians)', 'KB', 'indexer ms', 'through toncache ms', 'added ms'],
    rows.map(({ sizeKb, directMs, throughMs, addedMs }) => [
      'one after another',
      `${sizeKb}`,
      directMs.toFixed(2),
      throughMs.toFixed(2),
      addedMs.toFixed(2),
    ]),
  );
}
