import type { Entry } from '../cache/entry.ts';
import type { Proof } from '../freshness.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow } from '../ton/block-facts.ts';
import type { Evidence } from '../ton/evidence.ts';
import type { Call } from '../ton/parse-call.ts';

/** Gives answers about accounts their judges, and learns the transactions in all answers. */
export interface BlockJudge {
  /**
   * The oldest block that is not read, or whose jetton wallets are not known: transactions in answers are of interest
   * from this block on. Infinite while blocks are not followed.
   */
  readonly unreadFrom: number;
  /**
   * Every transaction up to this instant is in a block that was read, or in one that is listed as unread; -Infinity
   * while unknown.
   */
  readonly mark: MonotonicMs;
  /**
   * Takes the final transactions of an answer. Call before the answer is served or kept. Those of blocks that were read
   * are known.
   */
  shown(rows: readonly BlockRow[]): void;
  /**
   * The judge of an answer about accounts; `undefined` if it is about none, and while blocks are not followed.
   * @param evidence Without it the answer is never proven, and every later transaction of the accounts outdates it.
   * @param askedAt The instant of its request to the indexer, less its time in other caches.
   * @param equalMs See `Proof.equalMs`, of an entry from Redis.
   */
  proofOf(
    evidence: Evidence | undefined,
    accounts: readonly string[],
    askedAt: MonotonicMs,
    equalMs?: Ms,
  ): Proof | undefined;
}

/** Counts the polls that a proof answers or would have answered. */
export interface PollCount {
  /** Call with each answer that blocks can prove, when it is sent to a client. `isProven`: because they prove it. */
  answered(call: Call, entry: Pick<Entry, 'key' | 'etag'>, isProven: boolean): void;
  /** Call when a poll is refused that such an answer would have answered. */
  refused(call: Call, key: string): void;
  /** Call when transactions of a masterchain block are sent to a client. */
  servedBlock(seqno: number): void;
}

/**
 * `alive`: answers can be proven. `behind`: it is on, but behind. `idle`: it is off, because too few polls would be
 * answered. `resting`: it is off for a while, because it was behind for too long.
 */
export type FollowerState = 'alive' | 'behind' | 'idle' | 'resting';

/** The events of a follower: it started or stopped, or an indexer has cut a page of a block and not reported it. */
export type FollowerEvent =
  | { readonly name: 'block-follower'; readonly state: FollowerState }
  | { readonly name: 'pages-cut'; readonly indexer: string };

/** The follower of blocks, as operators see it. */
export interface ShownFollower {
  readonly state: FollowerState;
  /** `newestRead`: the newest block that was read; -1 before the first. */
  readonly blocks: { readonly newestRead: number };
}
