import { setTimeout as delay } from 'node:timers/promises';
import type { Chain } from '../../../src/tools/simulator/chain.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { Connections } from '../overload/connections.ts';

/** Latencies in milliseconds from the moment at which a request was due. */
export interface Heard {
  readonly latenciesMs: readonly number[];
  /** Answers that were neither 200 nor 404. */
  readonly failed: number;
}

const PER_SECOND = 200;
const TICK_MS = 2;
/** Scanners at the head, and wallets that wait for a trace; the rest walks trees. */
const HEAD_SHARE = 0.2;
const PENDING_SHARE = 0.5;
/** Traces that somebody looks at, the newest ones. */
const WATCHED_TRACES = 40;
const BLOCKS_BEHIND = 5;

/** Sends requests to each port in turn when they are due, however many are unanswered; resolves when all are answered. */
export async function offerLoad(ports: readonly number[], chain: Chain, seconds: number): Promise<Heard> {
  const servers = ports.map((port) => new Connections(port));
  const random = new SeededRandom('fleet');
  const startedAt = performance.now();
  const answers: Promise<number>[] = [];
  const latenciesMs: number[] = [];
  for (let dueMs = 0; dueMs < seconds * 1000; ) {
    while (performance.now() - startedAt < dueMs) await delay(TICK_MS);
    chain.advanceTo(Date.now());
    const dueAt = startedAt + dueMs;
    const { promise, resolve } = Promise.withResolvers<number>();
    servers[answers.length % servers.length]?.ask(nextTarget(chain, random), (heard) => {
      latenciesMs.push(performance.now() - dueAt);
      resolve('lost' in heard ? 0 : heard.status);
    });
    answers.push(promise);
    dueMs -= (Math.log(1 - random.next()) * 1000) / PER_SECOND;
  }
  const statuses = await Promise.all(answers);
  for (const server of servers) server.close();
  return { latenciesMs, failed: statuses.filter((status) => status !== 200 && status !== 404).length };
}

/** What many clients ask for now, most of them the same: path and query. */
function nextTarget(chain: Chain, random: SeededRandom): string {
  if (random.chance(HEAD_SHARE)) {
    // One ahead of the head is what scanners wait for.
    return `/api/v3/masterchainBlockShards?seqno=${chain.headSeqno + 1 - random.int(0, BLOCKS_BEHIND)}`;
  }
  const trace = random.pick(chain.recentTraces(WATCHED_TRACES));
  if (random.chance(PENDING_SHARE / (1 - HEAD_SHARE))) {
    return `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(trace.externalHash)}`;
  }
  const { hash } = random.pick(trace.transactions);
  return `/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}&direction=${random.pick(['in', 'out'])}`;
}
