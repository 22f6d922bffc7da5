import type { EpochMs, Ms } from '../time-units.ts';
import type { ChainHead, ChainPoint } from '../ton/chain-point.ts';

/** Replicas behind one address differ: a point in an answer counts for this long, whatever the head polls return. */
export const SHOWN_HOLDS_MS: Ms = 60_000;

/** A chain time further ahead of our clock is garbage. */
const FURTHEST_AHEAD_MS: Ms = 60 * 60_000;

/** The newest block at its last appearance in an answer. */
export interface LastWord {
  /** Its age at that time, by our clock: negative if it is ahead of the clock; `undefined` if it has no time. */
  readonly ageMs: Ms | undefined;
  /** The time for which the newest block has been the same, as far as it was polled. */
  readonly sameForMs: Ms;
}

/** True if the time of a block can be true, by our clock. */
function isPlausible(at: EpochMs, now: EpochMs): boolean {
  return at <= now + FURTHEST_AHEAD_MS;
}

/**
 * The chain of one indexer as its answers show it: the chain time, the highest block, and the range of blocks that it
 * named. Answers move time and highest block forward. A value that no answer has shown for 60 s is forgotten, because
 * the indexer may have been reset to an older state.
 */
export class ShownChain {
  readonly #now: () => EpochMs;
  #at: EpochMs = 0;
  /** When an answer last showed a time that is not older than the known one. */
  #shownAt: EpochMs = Number.NEGATIVE_INFINITY;
  #seqno = -1;
  /** When an answer last showed a block that is not older than the highest. */
  #reachedAt: EpochMs = Number.NEGATIVE_INFINITY;
  /** When the highest block became known. */
  #grewAt: EpochMs = Number.NEGATIVE_INFINITY;
  #first = 0;
  #last = -1;
  #word: (LastWord & { readonly at: EpochMs }) | undefined;
  /** When an answer last showed the newest block. */
  #newestShownAt: EpochMs;

  constructor(now: () => EpochMs) {
    this.#now = now;
    this.#newestShownAt = now();
  }

  /** The newest time in an answer; `undefined` if no answer has shown it in the last 60 s. */
  get time(): EpochMs | undefined {
    return this.#isTimeCurrent() ? this.#at : undefined;
  }

  /** The highest block in an answer; -1 while there is none. */
  get seqno(): number {
    return this.#seqno;
  }

  /** The oldest block that the indexer named; 0 while there is none. */
  get first(): number {
    return this.#first;
  }

  /** The newest block that the indexer named or has shown since; -1 while there is none. */
  get last(): number {
    return this.#last;
  }

  /** `undefined` if no answer has shown the newest block in the last 60 s. */
  get lastWord(): LastWord | undefined {
    return this.#word !== undefined && this.#now() - this.#word.at <= SHOWN_HOLDS_MS ? this.#word : undefined;
  }

  /** True if an answer has shown in the last 60 s that the chain has reached a block. */
  hasReached(seqno: number): boolean {
    return seqno <= this.#seqno && this.#isSeqnoCurrent();
  }

  /** True if an answer has shown the newest block within this time. */
  isNewestShown(withinMs: Ms): boolean {
    return this.#now() - this.#newestShownAt < withinMs;
  }

  /**
   * Learns the point in an answer. Returns true for a block above the newest one. `withinMs`: if an answer has shown
   * the newest block within this time, the given block is the newest now.
   */
  show({ at, seqno }: ChainPoint, withinMs: Ms): boolean {
    this.#showTime(at);
    if (seqno >= this.#seqno) this.#reach(seqno);
    if (seqno <= this.#last) return false;
    if (this.#word !== undefined && this.isNewestShown(withinMs)) this.#showNewest(at);
    this.#last = seqno;
    return true;
  }

  /** Learns the answer to a head poll: its newest block counts even if it is older than the known one. */
  name({ at, seqno, first }: ChainHead): void {
    this.#showTime(at);
    if (seqno < 0) return;
    if (seqno >= this.#seqno || !this.#isSeqnoCurrent()) this.#reach(seqno);
    this.#last = seqno;
    this.#first = first;
    this.#showNewest(at);
  }

  /** Call when the clock has jumped: earlier instants then mean nothing. */
  forget(): void {
    this.#at = 0;
    this.#shownAt = Number.NEGATIVE_INFINITY;
    this.#reachedAt = Number.NEGATIVE_INFINITY;
    this.#newestShownAt = Number.NEGATIVE_INFINITY;
    this.#grewAt = this.#now();
    this.#word = undefined;
  }

  #showTime(at: EpochMs): void {
    const now = this.#now();
    if (at <= 0 || !isPlausible(at, now) || (at < this.#at && this.#isTimeCurrent())) return;
    this.#at = at;
    this.#shownAt = now;
  }

  #reach(seqno: number): void {
    if (seqno < 0) return;
    const now = this.#now();
    if (seqno !== this.#seqno) this.#grewAt = now;
    this.#seqno = seqno;
    this.#reachedAt = now;
  }

  /** An answer has shown the newest block, which was made at `blockAt` (0 if unknown). */
  #showNewest(blockAt: EpochMs): void {
    const at = this.#now();
    this.#newestShownAt = at;
    this.#word = { at, ageMs: blockAt > 0 ? at - blockAt : undefined, sameForMs: at - this.#grewAt };
  }

  #isTimeCurrent(): boolean {
    return this.#now() - this.#shownAt <= SHOWN_HOLDS_MS;
  }

  #isSeqnoCurrent(): boolean {
    return this.#now() - this.#reachedAt <= SHOWN_HOLDS_MS;
  }
}
