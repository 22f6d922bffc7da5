import { Chain, type ChainOptions } from '../../../src/tools/simulator/chain.ts';
import { digest, type SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import type { Heard } from '../support/connections.ts';

export const OPERATIONS = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** One request of the load, and the criterion for a right answer. */
export interface Call {
  /** `hot`: warmed, so a cache has it; `unique`: requested for the first time. */
  readonly kind: 'hot' | 'unique';
  readonly operation: Operation | 'passThrough';
  /** Path and query. */
  readonly target: string;
  /** Status 200 and this text in the body. */
  readonly says: string;
}

/** The outcome for the client: `hit` and `miss` are right, `refused` is 503 or 429 with `Retry-After`. */
export type Outcome = 'hit' | 'miss' | 'refused' | 'left' | { readonly error: string };

/** The outcome of a call by its answer or its failure. */
export function outcomeOf(call: Call, { status, body, hasRetryAfter, isHit }: Heard): Outcome {
  if (status === 0) return body === 'left' ? 'left' : { error: body };
  if ((status === 503 || status === 429) && hasRetryAfter) return 'refused';
  if (status !== 200) return { error: String(status) };
  if (!body.includes(call.says)) return { error: 'wrong answer' };
  return isHit ? 'hit' : 'miss';
}

export function isRight(outcome: Outcome): boolean {
  return outcome === 'hit' || outcome === 'miss';
}

/** Requests a second: hot, unique for each operation, slow, and passed through. */
export type Rates = Readonly<Record<'hot' | Operation | 'slowShards' | 'passThrough', number>>;

export const NO_RATES: Rates = {
  hot: 0,
  pendingTraces: 0,
  adjacentTransactions: 0,
  masterchainBlockShards: 0,
  slowShards: 0,
  passThrough: 0,
};

/** The mark in the query of slow requests. */
export const SLOW_QUERY = 'limit=99';

const HOT_BLOCKS = 50;

const FIRST_SEQNO = 62_000_000;
const PAST_BLOCKS = 1500;
/** A minute and more: masterchain blocks before that have all their children. */
const OLD = { oldest: Infinity, youngest: 150 };
/** More rows than a masterchain block has blocks: the answer is complete. Not 10 or 100 rows. */
const SMALLEST_LIMIT = 101;

/** Of the first masterchain blocks, final long ago: warmed before the load. */
export const HOT_CALLS: readonly Call[] = Array.from({ length: HOT_BLOCKS }, (_, number) =>
  shards('hot', FIRST_SEQNO + number, ''),
);

/** Makes the chain of the bench: the same in every process, given the time of its first masterchain block, epoch ms. */
export function chainOptions(startAt: number): ChainOptions {
  return { startAt, firstSeqno: FIRST_SEQNO, historyBlocks: 1_000_000 };
}

export function chainOf(startAt: number): Chain {
  const chain = new Chain(chainOptions(startAt));
  chain.advanceTo(Date.now());
  return chain;
}

/** Requests a second of all kinds. */
export function totalOf(rates: Rates): number {
  return Object.values(rates).reduce((sum, rate) => sum + rate, 0);
}

/** The beginning of a chain that is old enough now, epoch ms. */
export function chainStart(): number {
  return Date.now() - PAST_BLOCKS * 400;
}

/** The targets of the load: keys that no cache can have, and a few hot ones that are final. */
export class Calls {
  readonly #random: SeededRandom;
  readonly #seqnos: readonly number[];
  readonly #adjacent: readonly Call[];
  readonly #taken = { ...NO_RATES };

  /** `ages`: of the requested masterchain blocks, in blocks before the head. */
  constructor(chain: Chain, random: SeededRandom, ages = OLD) {
    this.#random = random;
    const first = Math.max(chain.headSeqno - ages.oldest, FIRST_SEQNO);
    this.#seqnos = Array.from({ length: chain.headSeqno - ages.youngest - first }, (_, number) => first + number);
    this.#adjacent = this.#seqnos.flatMap((seqno) => adjacentOf(chain, seqno));
  }

  /** The next call, drawn by the rates. Throws when no unique call is left: the load is too long. */
  next(rates: Rates): Call {
    let drawn = this.#random.next() * totalOf(rates);
    const isDrawn = (kind: keyof Rates) => {
      const rate = rates[kind];
      drawn -= rate;
      return rate > 0 && drawn < 0;
    };
    if (isDrawn('hot')) return this.#random.pick(HOT_CALLS);
    if (isDrawn('pendingTraces')) return this.#pending();
    if (isDrawn('adjacentTransactions')) return this.#nextAdjacent();
    if (isDrawn('slowShards')) return this.#nextSlow();
    return isDrawn('passThrough') ? this.#nextPassed() : this.#nextShards();
  }

  #pending(): Call {
    const hash = encodeURIComponent(digest('overload', this.#taken.pendingTraces++));
    const target = `/api/v3/pendingTraces?ext_msg_hash=${hash}`;
    return { kind: 'unique', operation: 'pendingTraces', target, says: '"traces":[]' };
  }

  #nextAdjacent(): Call {
    const call = this.#adjacent[this.#taken.adjacentTransactions++];
    if (call === undefined) throw new Error('the chain has no more transactions to ask for: fewer seconds, please');
    return call;
  }

  #nextSlow(): Call {
    const number = this.#taken.slowShards++;
    const round = Math.floor(number / this.#seqnos.length);
    // After the 99 rows of the first round come 990 to 999: slow queries begin like this.
    if (round > 10) throw new Error('the chain has no more blocks to ask for: fewer seconds, please');
    const limit = round === 0 ? SLOW_QUERY : `${SLOW_QUERY}${round - 1}`;
    return shards('unique', this.#seqnos[number % this.#seqnos.length] ?? 0, `&${limit}`);
  }

  #nextPassed(): Call {
    const target = `/api/v3/masterchainInfo?number=${this.#taken.passThrough++}`;
    return { kind: 'unique', operation: 'passThrough', target, says: '"last"' };
  }

  #nextShards(): Call {
    const number = this.#taken.masterchainBlockShards++;
    const limit = SMALLEST_LIMIT + Math.floor(number / this.#seqnos.length);
    return shards('unique', this.#seqnos[number % this.#seqnos.length] ?? 0, `&limit=${limit}`);
  }
}

function shards(kind: Call['kind'], seqno: number, rest: string): Call {
  const target = `/api/v3/masterchainBlockShards?seqno=${seqno}${rest}`;
  return { kind, operation: 'masterchainBlockShards', target, says: `"seqno":${seqno}` };
}

/** Every call for a masterchain block's transactions that has an answer. */
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
