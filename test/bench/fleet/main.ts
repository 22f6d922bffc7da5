import { parseArgs } from 'node:util';
import { exitOnSignals } from '../../support/launch.ts';
import { startRedis } from '../../support/redis-server.ts';
import { numberUpTo } from '../arguments.ts';
import { describeMachine } from '../machine.ts';
import { markdownTable } from '../markdown-table.ts';
import { startBusyIndexer } from '../overload/busy-indexer.ts';
import { chainOf } from '../overload/calls.ts';
import { quantilesOf } from '../quantiles.ts';
import { startToncache, type ToncacheProcess } from '../toncache-process.ts';
import { offerLoad } from './offer-load.ts';

// `npm run bench:fleet`: the same load on 1, 2 and 4 instances, with one Redis and with none. Three minutes, everything on
// 127.0.0.1. `--seconds 2` runs each shorter.

const FLEETS = [
  { instances: 1, shared: true },
  { instances: 2, shared: true },
  { instances: 2, shared: false },
  { instances: 4, shared: true },
  { instances: 4, shared: false },
];
/** Of a worker of the indexer. */
const SERVICE_MS = 50;
/** Processes that were just started compile what they run. */
const WARM_UP_SECONDS = 5;
/** Each fleet more than once, one after the other, so that they share what else the machine does. */
const REPEATS = 2;

interface Run {
  readonly upstreamRequests: number;
  readonly latenciesMs: readonly number[];
  readonly failed: number;
}

exitOnSignals();

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '10' } } });
const seconds = numberUpTo('--seconds', values.seconds, 60);
console.log(`${describeMachine()}\n`);
const fleets = FLEETS.map((fleet) => ({ ...fleet, runs: [] as Run[] }));
for (let time = 0; time < REPEATS; time++) {
  for (const { instances, shared, runs } of fleets) runs.push(await run(instances, shared));
}
const rows = fleets.map(({ instances, shared, runs }) => rowOf(`${instances}${shared ? '' : ', without Redis'}`, runs));
console.log(markdownTable(['Instances', 'requests', 'at the indexer', 'p50 ms', 'p99 ms', 'failed'], rows));

async function run(instances: number, shared: boolean): Promise<Run> {
  await using indexer = await startBusyIndexer(SERVICE_MS);
  await using redis = await startRedis();
  await using fleet = new AsyncDisposableStack();
  const settings = { UPSTREAM_URL: indexer.url, ...(shared ? { REDIS_URL: redis.url } : {}) };
  const starting = Array.from({ length: instances }, () => startToncache(settings));
  const servers = (await Promise.all(starting)).map((server) => fleet.use(server));
  const ports = servers.map(({ port }) => port);
  const chain = chainOf(indexer.chainStartAt);
  await offerLoad(ports, chain, WARM_UP_SECONDS);
  const before = await upstreamRequestsOf(servers);
  const heard = await offerLoad(ports, chain, seconds);
  return { upstreamRequests: (await upstreamRequestsOf(servers)) - before, ...heard };
}

async function upstreamRequestsOf(servers: readonly ToncacheProcess[]): Promise<number> {
  const counts = await Promise.all(servers.map((server) => server.upstreamRequests()));
  return counts.reduce((sum, count) => sum + count, 0);
}

function rowOf(name: string, runs: readonly Run[]): string[] {
  const latencies = runs.flatMap(({ latenciesMs }) => latenciesMs);
  const quantile = quantilesOf(latencies);
  const at = (share: number) => quantile(share)?.toFixed(1) ?? '-';
  const upstream = runs.map(({ upstreamRequests }) => upstreamRequests).join(', ');
  const failed = runs.reduce((sum, one) => sum + one.failed, 0);
  return [name, `${latencies.length}`, upstream, at(0.5), at(0.99), `${failed}`];
}
