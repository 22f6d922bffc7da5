import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { exitOnSignals } from '../../support/launch.ts';
import { startRedis } from '../../support/redis-server.ts';
import { listed } from '../support/arguments.ts';
import { describeMachine } from '../support/report.ts';
import { type Case, casesOf, KINDS } from './cases.ts';
import { startFakeIndexer } from './fake-indexer.ts';
import { type Measured, measureCase, tableOf } from './measure.ts';
import { memoryTables } from './memory.ts';
import { nginxPeer, type Peer, toncachePeer, varnishPeer } from './peer.ts';

// `npm run bench:peers`: CPU time per request of toncache, nginx and Varnish in front of one indexer, all pinned to the same
// core and measured one after the other. All cases take fifteen minutes. Needs Linux and 2 cores. `--only hits,misses`
// selects cases; `--toncache <folder>`, given once for each, compares versions of toncache in one run. `--only memory`
// measures the resident memory of toncache alone, on all cores, with `--percent 10` of the entries.

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SERVER_CORE = 0;
const GENERATOR_CORE = 1;
/** Core of the indexer and of Redis, which are not measured. */
const REST_CORE = String(availableParallelism() > 2 ? 2 : GENERATOR_CORE);
/** A budget that is never exceeded: every hit is read from Redis. */
const REDIS_SETTINGS = { redis: { budget: '1s' } };
const WITHOUT_MEMORY = `--import ${new URL('without-memory.ts', import.meta.url).href}`;

exitOnSignals();

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    toncache: { type: 'string', multiple: true, default: [ROOT] },
    percent: { type: 'string', default: '100' },
  },
});
if (values.only === 'memory') {
  console.log(`${describeMachine()}\n\n${await memoryTables(Number(values.percent))}`);
  process.exit();
}
const kinds = listed('--only', values.only, KINDS);
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);

await using folder = await mkdtempDisposable(join(tmpdir(), 'toncache-peers-'));
const configFile = join(folder.path, 'config.json');
await writeFile(configFile, JSON.stringify(REDIS_SETTINGS));
await using stack = new AsyncDisposableStack();
const indexer = stack.use(await startFakeIndexer(REST_CORE));
const setting = [String(SERVER_CORE), indexer.url] as const;
const peers: Peer[] = [];
for (const source of values.toncache) {
  const name = values.toncache.length === 1 ? 'toncache' : `toncache ${basename(resolve(source))}`;
  const isOfDefaults = ({ load, further }: Case) => load !== 'redis' && !further;
  peers.push(stack.use(await toncachePeer(...setting, { name, source }, isOfDefaults)));
  if (kinds.includes('further')) {
    const options = { name, source, env: { CACHE_OPERATIONS: 'all' } };
    peers.push(stack.use(await toncachePeer(...setting, options, ({ further }) => further)));
  }
  if (kinds.includes('stored')) {
    const { url, pid } = stack.use(
      await startRedis({ args: ['--maxmemory', '512mb', '--maxmemory-policy', 'allkeys-lru'] }),
    );
    await promisify(execFile)('taskset', ['-a', '-p', '-c', REST_CORE, String(pid)]);
    const options = { name: `${name}, Redis`, source, env: { REDIS_URL: url } };
    peers.push(stack.use(await toncachePeer(...setting, options, ({ load }) => load === 'stored')));
  }
  if (kinds.includes('redis')) {
    const { url, pid } = stack.use(await startRedis());
    await promisify(execFile)('taskset', ['-a', '-p', '-c', REST_CORE, String(pid)]);
    const options = { name, source, env: { REDIS_URL: url, CONFIG_FILE: configFile, NODE_OPTIONS: WITHOUT_MEMORY } };
    peers.push(stack.use(await toncachePeer(...setting, options, ({ load }) => load === 'redis')));
  }
}
peers.push(stack.use(await nginxPeer(...setting)), stack.use(await varnishPeer(...setting)));

const bench = { generatorCore: GENERATOR_CORE, indexer, hitsFile: join(folder.path, 'hits.txt'), rounds, seconds };
const measured: Measured[] = [];
for (const compared of casesOf(kinds)) {
  console.error(`... ${compared.title}, ${compared.sizeKb} KB`);
  measured.push(...(await measureCase(bench, compared, peers)));
}
console.log(`${describeMachine()}, ${rounds} rounds of ${seconds} s\n\n${tableOf(measured)}`);
