import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { startRedis } from '../../support/redis-server.ts';
import { launch, textIn } from '../launch.ts';
import { markdownTable } from '../markdown-table.ts';
import { SIZES_KB } from '../sized-calls.ts';
import { startToncache, type ToncacheProcess } from '../toncache-process.ts';
import type { LoopOrder, LoopResult } from './closed-loop.ts';

// `npm run bench:compare -- --with ../other-checkout`: the CPU time of a request in this source tree and in another one,
// measured by turns, so that other work on the machine slows both. Each answer is checked to be of the kind that is
// measured. With `--profile` CPU profiles are written to bench-results/.

type Kind = 'miss' | 'redis' | 'memory';

const { values } = parseArgs({
  options: {
    with: { type: 'string' },
    kinds: { type: 'string', default: 'miss,redis,memory' },
    sizes: { type: 'string', default: SIZES_KB.join(',') },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    profile: { type: 'boolean', default: false },
  },
});

/** So many requests a round: about a second at any size. */
const REQUESTS: Readonly<Record<Kind, (sizeKb: number) => number>> = {
  miss: (sizeKb) => (sizeKb > 100 ? 600 : 2000),
  redis: (sizeKb) => (sizeKb > 100 ? 1000 : 4000),
  memory: (sizeKb) => (sizeKb > 100 ? 4000 : 10_000),
};

/** What the answers of a kind say of themselves. */
const STATUS: Readonly<Record<Kind, string>> = {
  miss: '200 toncache; fwd=miss; stored',
  redis: '200 toncache; hit; detail=redis',
  memory: '200 toncache; hit; detail=memory',
};

const HOT_KEYS = 200;
/** Before that the code is not compiled for speed. */
const WARM_UP_ROUNDS = 6;

/** Every hit is made to ask Redis first, though memory holds the entry as well. */
const EVERY_HIT_FROM_REDIS = { redis: { budget: '1s' }, lifetimes: { adjacentGrowing: { memoryTtl: '0ms' } } };

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const here = fileURLToPath(new URL('../../..', import.meta.url));
const trees = values.with === undefined ? [here] : [resolve(values.with), here];
const results = join(here, 'bench-results');
const nodeArgs = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${results}`] : [];

await using indexer = launch(new URL('../sized-indexer.ts', import.meta.url));
pin(indexer.pid, 1);
const indexerUrl = await indexer.next(textIn('url'));
const rows: string[][] = [];
for (const kind of values.kinds.split(',') as Kind[]) {
  for (const sizeKb of values.sizes.split(',').map(Number)) rows.push(await compare(kind, sizeKb));
}
console.log(markdownTable(['CPU µs a request', 'KB', ...trees, ...(trees.length > 1 ? ['ratio'] : [])], rows));

async function compare(kind: Kind, sizeKb: number): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'toncache-bench-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(directory, { recursive: true }));
  const environment: Record<string, string> = { UPSTREAM_URL: indexerUrl };
  if (kind === 'redis') {
    environment['REDIS_URL'] = stack.use(await startRedis()).url;
    environment['CONFIG_FILE'] = join(directory, 'config.json');
    await writeFile(environment['CONFIG_FILE'], JSON.stringify(EVERY_HIT_FROM_REDIS));
  }
  const servers: ToncacheProcess[] = [];
  for (const tree of trees) {
    const program = pathToFileURL(join(tree, 'src/main.ts'));
    const settings = { ...environment, NETWORK: `bench${servers.length}` };
    const server = stack.use(await startToncache(settings, nodeArgs, program));
    pin(server.pid, 0);
    servers.push(server);
  }
  const micros: number[][] = trees.map(() => []);
  for (let round = -WARM_UP_ROUNDS; round < Number(values.rounds); round++) {
    for (const [index, server] of servers.entries()) {
      const cost = await costOf(server, kind, sizeKb, round + WARM_UP_ROUNDS);
      if (round >= 0) micros[index]?.push(cost);
    }
  }
  const costs = micros.map(median);
  const ratios = micros[0]?.map((cost, round) => cost / (micros[1]?.[round] ?? Number.NaN)) ?? [];
  const ratio = trees.length > 1 ? [median(ratios).toFixed(2)] : [];
  return [kind, `${sizeKb}`, ...costs.map((cost) => cost.toFixed(1)), ...ratio];
}

/** CPU microseconds of the whole process for a request. Throws when answers are not of the kind. */
async function costOf(server: ToncacheProcess, kind: Kind, sizeKb: number, round: number): Promise<number> {
  const requests = REQUESTS[kind](sizeKb);
  const { port } = new URL(server.url);
  const distinct = kind === 'miss' ? requests : HOT_KEYS;
  const first = kind === 'miss' ? round * requests : 0;
  const order: LoopOrder = {
    port: Number(port),
    sizeKb,
    first,
    distinct,
    requests,
    connections: Number(values.connections),
  };
  const before = await server.usage();
  await using loop = launch(new URL('./closed-loop.ts', import.meta.url), { args: [JSON.stringify(order)] });
  pin(loop.pid, 1);
  const { statuses } = await loop.next((line): LoopResult => line as LoopResult);
  const after = await server.usage();
  const ofKind = statuses[STATUS[kind]] ?? 0;
  if (round > 0 && ofKind < 0.99 * requests) throw new Error(`not ${kind}: ${JSON.stringify(statuses)}`);
  return ((after.cpuSeconds - before.cpuSeconds) * 1e6) / requests;
}

/** The server has a core for itself, as far as this bench goes. Only Linux can do that. */
function pin(pid: number, core: number): void {
  if (process.platform === 'linux') execFileSync('taskset', ['-apc', `${core}`, `${pid}`], { stdio: 'ignore' });
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
