import type { EpochMs, Ms } from '../time-units.ts';
import type { ChainHead, ChainPoint } from '../ton/chain-point.ts';

/** Replicas behind one address differ: a point that was shown counts for this long, whatever the head polls return. */
export const SHOWN_HOLDS_MS: Ms = 60_000;

/** A chain time further ahead of our clock is garbage. */
const FURTHEST_AHEAD_MS: Ms = 60 * 60_000;

/** What the newest block that was shown last looked like. */
export interface LastWord {
  /** How old the newest block was then, by our clock: negative if it is ahead of it; `undefined` where it has no time. */
  readonly ageMs: Ms | undefined;
  /** For how long the newest block has been the same, as far as it was asked for. */
  readonly sameForMs: Ms;
}

/** Whether the time of a block can be true, by our clock. */
export function isPlausible(at: EpochMs, now: EpochMs): boolean {
  return at <= now + FURTHEST_AHEAD_MS;
}

/**
 * How far the answers of one indexer show its chain to be: the chain time, the highest block, and the range of blocks that
 * it named. Answers move time and highest block forward. What nothing has shown for 60 s is forgotten, because the indexer
 * may have been set back to an older state.
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

  /** The newest time that was shown; `undefined` if nothing has shown it in the last 60 s. */
  get time(): EpochMs | undefined {
    return this.#isTimeCurrent() ? this.#at : undefined;
  }

  /** The highest block that was shown; -1 while none was. */
  get seqno(): number {
    return this.#seqno;
  }

  /** The oldest block that was named; 0 while none was. */
  get first(): number {
    return this.#first;
  }

  /** The newest block that was named, or shown since; -1 while none was. */
  get last(): number {
    return this.#last;
  }

  /** `undefined` if the newest block was not shown in the last 60 s. */
  get lastWord(): LastWord | undefined {
    return this.#word !== undefined && this.#now() - this.#word.at <= SHOWN_HOLDS_MS ? this.#word : undefined;
  }

  /** Whether an answer has shown in the last 60 s that the chain has reached a block. */
  hasReached(seqno: number): boolean {
    return seqno <= this.#seqno && this.#isSeqnoCurrent();
  }

  /** Whether an answer has shown the newest block within this time. */
  isNewestShown(withinMs: Ms): boolean {
    return this.#now() - this.#newestShownAt < withinMs;
  }

  /**
   * Learns the point that an answer shows. Returns whether it is a block above the newest one. `withinMs`: if the newest one
   * was shown within this time, this one is the newest now.
   */
  show({ at, seqno }: ChainPoint, withinMs: Ms): boolean {
    this.#showTime(at);
    if (seqno >= this.#seqno) this.#reach(seqno);
    if (seqno <= this.#last) return false;
    if (this.#word !== undefined && this.isNewestShown(withinMs)) this.#showNewest(at);
    this.#last = seqno;
    return true;
  }

  /** Learns the answer to a head poll: its newest block counts also where it is older than the known one. */
  name({ at, seqno, first }: ChainHead): void {
    this.#showTime(at);
    if (seqno < 0) return;
    if (seqno >= this.#seqno || !this.#isSeqnoCurrent()) this.#reach(seqno);
    this.#last = seqno;
    this.#first = first;
    this.#showNewest(at);
  }

  /** Call when the clock has jumped: then no instant before it means anything. */
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

  /** An answer has shown the newest block, which is from `blockAt` (0 where that is not known). */
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
