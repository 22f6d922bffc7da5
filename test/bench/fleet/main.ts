import { parseArgs } from 'node:util';
import type { Chain } from '../../../src/tools/simulator/chain.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { exitOnSignals } from '../../support/launch.ts';
import { startRedis } from '../../support/redis-server.ts';
import { startBusyIndexer } from '../overload/busy-indexer.ts';
import { chainOf } from '../overload/calls.ts';
import { Connections } from '../support/connections.ts';
import { byChance, openLoop } from '../support/open-loop.ts';
import { startToncache, type Toncache } from '../support/processes.ts';
import { describeMachine, markdownTable, quantilesOf } from '../support/report.ts';
import { requestsForFailingKeys } from './failures.ts';

// `npm run bench:fleet`: the same load on 1, 2 and 4 instances, with one Redis and without Redis. Three minutes,
// everything on 127.0.0.1. `--seconds 2` runs each shorter. `--failures` instead counts the requests for keys whose
// loads fail, in three minutes; with `--toncache <folder>` for another version.

const FLEETS = [
  { instances: 1, shared: true },
  { instances: 2, shared: true },
  { instances: 2, shared: false },
  { instances: 4, shared: true },
  { instances: 4, shared: false },
];
const PER_SECOND = 200;
/** The time of a worker of the indexer. */
const SERVICE_MS = 50;
/** New processes compile what they run. */
const WARM_UP_SECONDS = 5;
/** Each fleet more than once, one after the other, so that all share the noise of the machine. */
const REPEATS = 2;
/** Scanners at the head, and wallets that wait for a trace; the others walk trees. */
const HEAD_SHARE = 0.2;
const PENDING_SHARE = 0.5;
/** The newest traces, which clients look at. */
const WATCHED_TRACES = 40;
const BLOCKS_BEHIND = 5;

exitOnSignals();

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    failures: { type: 'boolean', default: false },
    toncache: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
console.log(`${describeMachine()}\n`);
if (values.failures) {
  console.log(await requestsForFailingKeys(values.toncache));
  process.exit();
}
const fleets = FLEETS.map((fleet) => ({ ...fleet, runs: [] as Awaited<ReturnType<typeof run>>[] }));
for (let time = 0; time < REPEATS; time++) {
  for (const { instances, shared, runs } of fleets) runs.push(await run(instances, shared));
}
const rows = fleets.map(({ instances, shared, runs }) => {
  const answers = runs.flatMap((one) => one.answers);
  const times = answers.map(({ ms }) => ms);
  const quantile = quantilesOf(times, 1);
  const upstream = runs.map(({ upstreamRequests }) => upstreamRequests).join(', ');
  const failed = answers.filter(({ status }) => status !== 200 && status !== 404).length;
  const name = `${instances}${shared ? '' : ', without Redis'}`;
  return [name, `${answers.length}`, upstream, quantile(0.5), quantile(0.99), `${failed}`];
});
console.log(markdownTable(['Instances', 'requests', 'at the indexer', 'p50 ms', 'p99 ms', 'failed'], rows));

async function run(instances: number, shared: boolean) {
  await using indexer = await startBusyIndexer(SERVICE_MS);
  await using redis = await startRedis();
  await using fleet = new AsyncDisposableStack();
  const settings = { UPSTREAM_URL: indexer.url, ...(shared ? { REDIS_URL: redis.url } : {}) };
  const starting = Array.from({ length: instances }, () => startToncache(settings));
  const servers = (await Promise.all(starting)).map((server) => fleet.use(server));
  const chain = chainOf(indexer.chainStartAt);
  await offerLoad(servers, chain, WARM_UP_SECONDS);
  const before = await upstreamRequestsOf(servers);
  const answers = await offerLoad(servers, chain, seconds);
  return { upstreamRequests: (await upstreamRequestsOf(servers)) - before, answers };
}

async function upstreamRequestsOf(servers: readonly Toncache[]): Promise<number> {
  const counts = await Promise.all(servers.map((server) => server.upstreamRequests()));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Sends requests to each server in turn when they are due. The time of an answer counts from then. */
async function offerLoad(servers: readonly Toncache[], chain: Chain, lastingSeconds: number) {
  const connections = servers.map(({ port }) => new Connections(port));
  const random = new SeededRandom('fleet');
  const dues = byChance(PER_SECOND, 0, lastingSeconds * 1000, random);
  let asked = 0;
  const answers = await openLoop(dues, async ({ dueMs }, startedAt) => {
    chain.advanceTo(Date.now());
    const answer = await connections[asked++ % connections.length]?.ask(nextTarget(chain, random));
    return { ms: performance.now() - startedAt - dueMs, status: answer?.status ?? 0 };
  });
  for (const each of connections) each.close();
  return answers;
}

/** Current targets of many clients, most of them equal: path and query. */
function nextTarget(chain: Chain, random: SeededRandom): string {
  if (random.chance(HEAD_SHARE)) {
    // Scanners wait for the block after the head.
    return `/api/v3/masterchainBlockShards?seqno=${chain.headSeqno + 1 - random.int(0, BLOCKS_BEHIND)}`;
  }
  const trace = random.pick(chain.recentTraces(WATCHED_TRACES));
  if (random.chance(PENDING_SHARE / (1 - HEAD_SHARE))) {
    return `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(trace.externalHash)}`;
  }
  const { hash } = random.pick(trace.transactions);
  return `/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}&direction=${random.pick(['in', 'out'])}`;
}
