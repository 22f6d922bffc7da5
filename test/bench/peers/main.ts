import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtempDisposable } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { exitOnSignals } from '../../support/launch.ts';
import { startRedis } from '../../support/redis-server.ts';
import { listed, numberUpTo } from '../arguments.ts';
import { describeMachine } from '../machine.ts';
import { casesOf, KINDS, SIZES_KB } from './cases.ts';
import { type Measured, measureCase, tableOf } from './measure.ts';
import { startNginx } from './nginx.ts';
import type { Peer } from './peer.ts';
import { startFakeIndexer } from './start-fake-indexer.ts';
import { nameOfToncache, startToncachePeer } from './toncache.ts';
import { startVarnish } from './varnish.ts';

// `npm run bench:peers`: CPU time per request of toncache, nginx and Varnish in front of one indexer, all pinned to the same
// core and measured in turn. All cases take ten minutes. Needs Linux and 2 cores. `--only hits,misses` and `--sizes 2,20`
// select cases; `--toncache <folder>`, given once for each, compares versions of toncache in one run.

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SERVER_CORE = 0;
const GENERATOR_CORE = 1;
/** Core of the indexer and of Redis, which are not measured. */
const REST_CORE = availableParallelism() > 2 ? 2 : GENERATOR_CORE;

exitOnSignals();

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    sizes: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    toncache: { type: 'string', multiple: true, default: [ROOT] },
  },
});
const kinds = listed('--only', values.only, KINDS);
const sizesKb = listed('--sizes', values.sizes, SIZES_KB.map(String)).map(Number);
const rounds = numberUpTo('--rounds', values.rounds, 100);
const seconds = numberUpTo('--seconds', values.seconds, 100);

await using folder = await mkdtempDisposable(join(tmpdir(), 'toncache-peers-'));
// Varnish reads its configuration as another user.
await chmod(folder.path, 0o755);
await using stack = new AsyncDisposableStack();
const indexer = stack.use(await startFakeIndexer(String(REST_CORE), folder.path));
const peers: Peer[] = [];
for (const [place, source] of values.toncache.entries()) {
  const own = { source, name: nameOfToncache(source, values.toncache) };
  peers.push(stack.use(await startToncachePeer({ ...(await setting(`toncache-${place}`)), ...own })));
  if (kinds.includes('redis')) {
    const { url, pid } = stack.use(await startRedis());
    await promisify(execFile)('taskset', ['-a', '-p', '-c', String(REST_CORE), String(pid)]);
    peers.push(stack.use(await startToncachePeer({ ...(await setting(`redis-${place}`)), ...own, redisUrl: url })));
  }
}
peers.push(stack.use(await startNginx(await setting('nginx'))));
peers.push(stack.use(await startVarnish(await setting('varnish'))));

const bench = { generatorCore: GENERATOR_CORE, indexerPort: indexer.port, folder: folder.path, rounds, seconds };
const measured: Measured[] = [];
for (const compared of casesOf(kinds, sizesKb)) {
  console.error(`... ${compared.title}, ${compared.sizeKb} KB`);
  measured.push(...(await measureCase(bench, compared, peers)));
}
console.log(`${describeMachine()}, ${rounds} rounds of ${seconds} s\n\n${tableOf(measured)}`);

async function setting(name: string) {
  const own = join(folder.path, name);
  await mkdir(own);
  return { cores: String(SERVER_CORE), indexerPort: indexer.port, folder: own };
}
