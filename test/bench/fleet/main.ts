import { startRedis } from '../../support/redis-server.ts';
import { describeMachine } from '../machine.ts';
import { markdownTable } from '../markdown-table.ts';
import { chainOf } from '../overload/calls.ts';
import { startBusyIndexer } from '../overload/indexer-process.ts';
import { startToncache, type ToncacheProcess } from '../toncache-process.ts';
import { offerLoad } from './offer-load.ts';

// `npm run bench:fleet`: the same load on 1, 2 and 4 instances, with one Redis and with none. Two minutes, everything on
// 127.0.0.1.

const SIZES = [1, 2, 4];
const PER_SECOND = 200;
/** Of a worker of the indexer. */
const SERVICE_MS = 50;
const SECONDS = 10;
/** Processes that were just started compile what they run. */
const WARM_UP_SECONDS = 5;
/** Each size more than once, one after the other, so that they share what else the machine does. */
const REPEATS = 2;

interface Run {
  readonly instances: number;
  readonly shared: boolean;
  readonly upstreamRequests: number;
  readonly latenciesMs: readonly number[];
  readonly failed: number;
}

// The processes of the bench are killed when this one exits; a signal alone would let them be.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const machine = describeMachine();
console.log(`${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${machine.system}`);
console.log(await fleets());

async function fleets(): Promise<string> {
  console.log(`${PER_SECOND} requests a second for ${SECONDS} s, ${REPEATS} times each...\n`);
  const runs: Run[] = [];
  for (let time = 0; time < REPEATS; time++) {
    for (const instances of SIZES) {
      runs.push(await run(instances, true));
      if (instances > 1) runs.push(await run(instances, false));
    }
  }
  return tableOf(runs);
}

async function run(instances: number, shared: boolean): Promise<Run> {
  await using indexer = await startBusyIndexer(SERVICE_MS);
  await using redis = await startRedis();
  await using fleet = new AsyncDisposableStack();
  const settings = { UPSTREAM_URL: indexer.url, ...(shared ? { REDIS_URL: redis.url } : {}) };
  const starting = Array.from({ length: instances }, () => startToncache(settings));
  const servers = (await Promise.all(starting)).map((server) => fleet.use(server));
  const urls = servers.map(({ url }) => url);
  const chain = chainOf(indexer.chainStartAt);
  await offerLoad({ urls, chain, perSecond: PER_SECOND, seconds: WARM_UP_SECONDS });
  const before = await upstreamRequestsOf(servers);
  const heard = await offerLoad({ urls, chain, perSecond: PER_SECOND, seconds: SECONDS });
  return { instances, shared, upstreamRequests: (await upstreamRequestsOf(servers)) - before, ...heard };
}

async function upstreamRequestsOf(servers: readonly ToncacheProcess[]): Promise<number> {
  const usages = await Promise.all(servers.map((server) => server.usage()));
  return total(usages.map(({ upstreamRequests }) => upstreamRequests));
}

function tableOf(all: readonly Run[]): string {
  const kinds = Map.groupBy(all, ({ instances, shared }) => `${instances}${shared ? '' : ', without Redis'}`);
  const rows = [...kinds].map(([kind, same]) => {
    const latencies = same.flatMap(({ latenciesMs }) => latenciesMs).sort((a, b) => a - b);
    const at = (share: number) => (latencies[Math.floor(share * (latencies.length - 1))] ?? 0).toFixed(1);
    const upstream = same.map(({ upstreamRequests }) => upstreamRequests).join(', ');
    return [
      kind,
      String(latencies.length),
      upstream,
      at(0.5),
      at(0.99),
      String(total(same.map(({ failed }) => failed))),
    ];
  });
  return markdownTable(['Instances', 'requests', 'at the indexer, each run', 'p50 ms', 'p99 ms', 'failed'], rows);
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
