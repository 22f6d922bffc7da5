import { setTimeout as delay } from 'node:timers/promises';
import type { Chain } from '../../../src/tools/simulator/chain.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { Connections } from '../overload/connections.ts';

const PER_SECOND = 100;
const TICK_MS = 2;
/** What is asked for is that old: every indexer that is not a minute behind has it. */
const [OLDEST_MS, YOUNGEST_MS] = [40_000, 5000];
const BLOCK_MS = 400;

/** One answer. */
export interface Heard {
  readonly ms: number;
  /** `past`: it says that there is nothing where there is something. */
  readonly said: 'right' | 'past' | 'failed';
}

interface Asked {
  readonly target: string;
  /** Only in a right answer. */
  readonly says: string;
}

/** Asks for 100 fresh keys a second when they are due, for so long; resolves when all are answered. */
export async function offerMisses(port: number, chain: Chain, seconds: number): Promise<Heard[]> {
  const connections = new Connections(port);
  const asks = new Asks(chain);
  const startedAt = performance.now();
  const answers: Promise<Heard>[] = [];
  for (let dueMs = 0; dueMs < seconds * 1000; dueMs += 1000 / PER_SECOND) {
    while (performance.now() - startedAt < dueMs) await delay(TICK_MS);
    answers.push(ask(connections, asks.next(), dueMs, startedAt));
  }
  const heard = await Promise.all(answers);
  connections.close();
  return heard;
}

/** So many clients that each ask again once they are answered, for so long: right answers a second. */
export async function closedLoop(port: number, chain: Chain, clients: number, seconds: number): Promise<number> {
  const connections = new Connections(port);
  const asks = new Asks(chain);
  const startedAt = performance.now();
  let right = 0;
  const client = async () => {
    for (let nowMs = 0; nowMs < seconds * 1000; ) {
      const { said } = await ask(connections, asks.next(), nowMs, startedAt);
      nowMs = performance.now() - startedAt;
      if (said === 'right' && nowMs < seconds * 1000) right++;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  connections.close();
  return right / seconds;
}

function ask(connections: Connections, { target, says }: Asked, atMs: number, startedAt: number): Promise<Heard> {
  return new Promise((resolve) =>
    connections.ask(target, (heard) => {
      const ms = performance.now() - startedAt - atMs;
      if ('lost' in heard || (heard.status !== 200 && heard.status !== 404)) resolve({ ms, said: 'failed' });
      else resolve({ ms, said: heard.body.includes(says) ? 'right' : 'past' });
    }),
  );
}

/** Parents of transactions and pages of blocks of the last minute, each asked for once. */
class Asks {
  readonly #chain: Chain;
  readonly #random = new SeededRandom('replicas');
  readonly #asked = new Set<string>();

  constructor(chain: Chain) {
    this.#chain = chain;
  }

  next(): Asked {
    this.#chain.advanceTo(Date.now());
    for (;;) {
      const ageMs = this.#random.int(YOUNGEST_MS, OLDEST_MS);
      const seqno = this.#chain.headSeqno - Math.round(ageMs / BLOCK_MS);
      const asked = this.#random.chance(0.5) ? this.#page(seqno) : this.#parent(seqno);
      if (asked === undefined || this.#asked.has(asked.target)) continue;
      this.#asked.add(asked.target);
      return asked;
    }
  }

  #page(seqno: number): Asked {
    const limit = this.#random.int(100, 1000);
    return { target: `/api/v3/masterchainBlockShards?seqno=${seqno}&limit=${limit}`, says: `"seqno":${seqno}` };
  }

  #parent(seqno: number): Asked | undefined {
    const transactions = this.#chain.block(seqno)?.transactions ?? [];
    const { hash, parent } = transactions.length === 0 ? {} : this.#random.pick(transactions);
    if (hash === undefined || parent === undefined) return undefined;
    return {
      target: `/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}&direction=in`,
      says: '"account"',
    };
  }
}
