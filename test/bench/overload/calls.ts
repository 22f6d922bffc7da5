import { Chain } from '../../../src/tools/simulator/chain.ts';
import { digest, type SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';

export type Operation = 'pendingTraces' | 'adjacentTransactions' | 'masterchainBlockShards';

/** One request of the load, with what makes an answer to it the right one. */
export interface Call {
  /** `hot`: warmed, so a cache has it; `unique`: nobody has asked it before. */
  readonly kind: 'hot' | 'unique';
  readonly operation: Operation;
  /** Path and query. */
  readonly target: string;
  /** Status 200 and this text in the body. */
  readonly says: string;
}

/** Requests a second: the hot ones, and the unique ones of each operation. */
export type Rates = Readonly<Record<'hot' | Operation, number>>;

export const NO_RATES: Rates = { hot: 0, pendingTraces: 0, adjacentTransactions: 0, masterchainBlockShards: 0 };

const HOT_BLOCKS = 50;

const FIRST_SEQNO = 62_000_000;
const PAST_BLOCKS = 1500;
/** A minute: masterchain blocks before that have all the children that they will have. */
const YOUNG_BLOCKS = 150;
/** More than a masterchain block has blocks: the answer is complete, and neither 10 nor 100 rows. */
const SMALLEST_LIMIT = 101;

/** Of the first masterchain blocks, final long ago: to be warmed before the load. */
export const HOT_CALLS: readonly Call[] = Array.from({ length: HOT_BLOCKS }, (_, number) =>
  shards('hot', FIRST_SEQNO + number, ''),
);

/** The chain of the bench: the same in every process, given when its first masterchain block was, epoch ms. */
export function chainOf(startAt: number): Chain {
  return new Chain({ startAt, firstSeqno: FIRST_SEQNO, historyBlocks: 1_000_000 });
}

/** Requests a second of all kinds. */
export function totalOf({ hot, pendingTraces, adjacentTransactions, masterchainBlockShards }: Rates): number {
  return hot + pendingTraces + adjacentTransactions + masterchainBlockShards;
}

/** When a chain that is old enough now has to have begun, epoch ms. */
export function chainStart(): number {
  return Date.now() - PAST_BLOCKS * 400;
}

/** What the load asks for: keys that no cache can know, and a few hot ones that are final. */
export class Calls {
  readonly #random: SeededRandom;
  readonly #seqnoCount: number;
  readonly #adjacent: readonly Call[];
  #pendingTaken: number;
  #adjacentTaken: number;
  #shardsTaken: number;

  /** `skip`: so many of each operation are left to others. */
  constructor(chain: Chain, random: SeededRandom, skip = 0) {
    this.#random = random;
    [this.#pendingTaken, this.#adjacentTaken, this.#shardsTaken] = [skip, skip, skip];
    this.#seqnoCount = chain.headSeqno - YOUNG_BLOCKS - FIRST_SEQNO;
    const seqnos = Array.from({ length: this.#seqnoCount }, (_, number) => FIRST_SEQNO + number);
    this.#adjacent = seqnos.flatMap((seqno) => adjacentOf(chain, seqno));
  }

  /** The next one, drawn by the rates. Throws when no unique one is left: the load is too long. */
  next(rates: Rates): Call {
    const { hot, pendingTraces, adjacentTransactions } = rates;
    const drawn = this.#random.next() * totalOf(rates);
    if (drawn < hot) return this.#random.pick(HOT_CALLS);
    if (drawn < hot + pendingTraces) return this.#pending();
    return drawn < hot + pendingTraces + adjacentTransactions ? this.#nextAdjacent() : this.#nextShards();
  }

  #pending(): Call {
    const hash = encodeURIComponent(digest('overload', this.#pendingTaken++));
    const target = `/api/v3/pendingTraces?ext_msg_hash=${hash}`;
    return { kind: 'unique', operation: 'pendingTraces', target, says: '"traces":[]' };
  }

  #nextAdjacent(): Call {
    const call = this.#adjacent[this.#adjacentTaken++];
    if (call === undefined) throw new Error('the chain has no more transactions to ask for: fewer seconds, please');
    return call;
  }

  #nextShards(): Call {
    const number = this.#shardsTaken++;
    const limit = SMALLEST_LIMIT + Math.floor(number / this.#seqnoCount);
    return shards('unique', FIRST_SEQNO + (number % this.#seqnoCount), `&limit=${limit}`);
  }
}

function shards(kind: Call['kind'], seqno: number, rest: string): Call {
  const target = `/api/v3/masterchainBlockShards?seqno=${seqno}${rest}`;
  return { kind, operation: 'masterchainBlockShards', target, says: `"seqno":${seqno}` };
}

/** Every question about a masterchain block's transactions that has an answer. */
function adjacentOf(chain: Chain, seqno: number): Call[] {
  return (chain.block(seqno)?.transactions ?? []).flatMap(({ hash }) => {
    const parent = chain.parent(hash)?.hash;
    const child = chain.children(hash)[0]?.hash;
    return [
      ...adjacent(hash, '&direction=in', parent),
      ...adjacent(hash, '&direction=out', child),
      ...adjacent(hash, '', parent ?? child),
    ];
  });
}

function adjacent(hash: string, direction: string, neighbour: string | undefined): Call[] {
  if (neighbour === undefined) return [];
  const target = `/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}${direction}`;
  return [{ kind: 'unique', operation: 'adjacentTransactions', target, says: neighbour }];
}
