import type { EpochMs, Ms } from '../time-units.ts';
import type { ChainHead, ChainPoint } from '../ton/chain-point.ts';

/** Replicas behind one address differ: a point in an answer counts for this long, whatever the head polls return. */
export const SHOWN_HOLDS_MS: Ms = 60_000;

/** A chain time further ahead of our clock is garbage. */
const FURTHEST_AHEAD_MS: Ms = 60 * 60_000;

/** Blocks this far below the head (40 s) are there if the indexer has them at all. */
const SETTLED_BLOCKS = 100;

/** Replicas behind one address differ by a few blocks; a head that is further below has fallen. */
const FALLEN_BLOCKS = 100;

/** A head has fallen when this many polls in a row show it: a request may reach a replica that has just started. */
const FALLEN_POLLS = 2;

/** A head is compared with the highest block of this time. */
const FALLEN_FROM_MS: Ms = 60 * 60_000;

/** Why the head of an indexer does not count: it follows another chain, or lacks a block that it named. */
export type HeadFault = 'lacks-block' | 'other-chain';

/** The newest block at its last appearance in an answer. */
export interface LastWord {
  /** Its age at that time, by our clock: negative if it is ahead of the clock; `undefined` if it has no time. */
  readonly ageMs: Ms | undefined;
  /** The time for which the newest block has been the same, as far as it was polled. */
  readonly sameForMs: Ms;
}

export interface HeadDependencies {
  readonly now: () => EpochMs;
  /** True if this process follows the chain of this `global_id`. */
  readonly isOurChain: (globalId: number) => boolean;
  /** Called when the head no longer counts, or counts again (`undefined`). `why`: the other chain, or the missing block. */
  readonly onFault: (fault: HeadFault | undefined, why: string) => void;
  /** The shortest time between two head polls. */
  readonly askEveryMs: () => Ms;
}

/** True if the time of a block can be true, by our clock. */
function isPlausible(at: EpochMs, now: EpochMs): boolean {
  return at <= now + FURTHEST_AHEAD_MS;
}

/**
 * All that is known about the newest block of one indexer, from head polls (`name`) and from the points in other answers
 * (`show`). Its values differ on purpose:
 *
 * - `newestBlock`: the one that it named, or has shown since. It may go down: the lag and the choice of an indexer use it.
 * - `highestBlock`, `hasReached`: the highest one of any answer. It counts for 60 s, and never goes down meanwhile.
 * - `chainTime`: the newest time of a block in any answer, by the same rule. The age of transactions counts up to it,
 *   because an indexer that catches up commits hour-old transactions now. If it is older than the head, or unknown,
 *   lifetimes are too short, but no answer is wrong: nobody waits for it.
 * - `fallenBlocks`: the newest block, compared with the highest one of the last hour.
 *
 * It is believed except for two faults: another chain, and a block that it named and lacks. With a fault it has no
 * newest block.
 */
export class Head {
  readonly #dependencies: HeadDependencies;
  readonly #now: () => EpochMs;
  #newest = -1;
  #oldest = 0;
  /** When an answer last showed the newest block. */
  #newestShownAt: EpochMs;
  #word: (LastWord & { readonly at: EpochMs }) | undefined;
  #highest = -1;
  /** When an answer last showed a block that is not older than the highest. */
  #reachedAt: EpochMs = Number.NEGATIVE_INFINITY;
  /** When the highest block became known. */
  #grewAt: EpochMs = Number.NEGATIVE_INFINITY;
  #time: EpochMs = 0;
  /** When an answer last showed a time that is not older than the known one. */
  #timeShownAt: EpochMs = Number.NEGATIVE_INFINITY;
  #highestOfHour = { seqno: -1, at: 0 };
  #below = 0;
  #lowPolls = 0;
  #chain: 'unknown' | 'ours' | 'other' = 'unknown';
  #globalId: number | undefined;
  /** The block that it named and lacks. */
  #lackedBlock: number | undefined;
  #fault: HeadFault | undefined;
  #otherChain: () => void = () => {};

  constructor(dependencies: HeadDependencies) {
    this.#dependencies = dependencies;
    this.#now = dependencies.now;
    this.#newestShownAt = this.#now();
  }

  /** The newest block by its last head; -1 while that is unknown or does not count. */
  get newestBlock(): number {
    return this.#fault === undefined ? this.#newest : -1;
  }

  /** Its newest block, also while its head does not count; -1 before the first. */
  get namedBlock(): number {
    return this.#newest;
  }

  /** The oldest block by its last head; `undefined` if it does not name one, or its head does not count. */
  get oldestBlock(): number | undefined {
    return this.#fault === undefined && this.#oldest > 0 ? this.#oldest : undefined;
  }

  /** The highest block in an answer; -1 before the first. */
  get highestBlock(): number {
    return this.#highest;
  }

  /** The chain time, epoch milliseconds; `undefined` if no answer has shown it in the last 60 s. */
  get chainTime(): EpochMs | undefined {
    return this.#isTimeCurrent() ? this.#time : undefined;
  }

  /** For operators; `undefined` if no answer has shown the newest block in the last 60 s. */
  get lastWord(): LastWord | undefined {
    return this.#word !== undefined && this.#now() - this.#word.at <= SHOWN_HOLDS_MS ? this.#word : undefined;
  }

  /** The blocks by which the head is below the highest of the last hour; 0 unless two polls in a row name over 100. */
  get fallenBlocks(): number {
    return this.#lowPolls < FALLEN_POLLS ? 0 : this.#below;
  }

  /** True if the last poll named a head that is too low: then the next poll may decide that it has fallen. */
  get isLow(): boolean {
    return this.#lowPolls > 0;
  }

  /** The reason why the head does not count; `undefined` while it counts. */
  get fault(): HeadFault | undefined {
    return this.#fault;
  }

  /** True once a head has shown that it follows our chain: until then no other instance gets its answers. */
  get isOfOurChain(): boolean {
    return this.#chain === 'ours';
  }

  /** True if the indexer reports that it has a masterchain block. */
  hasBlock(seqno: number): boolean {
    return this.#oldest <= seqno && seqno <= this.newestBlock;
  }

  /** True if an answer has shown in the last 60 s that the chain has reached a masterchain block. */
  hasReached(seqno: number): boolean {
    return seqno <= this.#highest && this.#isHighestCurrent();
  }

  /** True if an answer has shown the newest block within the time between two head polls. */
  get isNewestShown(): boolean {
    return this.#now() - this.#newestShownAt < this.#dependencies.askEveryMs();
  }

  /** Learns the point in an answer; most are about old blocks. */
  show({ at, seqno }: ChainPoint): void {
    this.#showTime(at);
    if (seqno >= this.#highest) this.#reach(seqno);
    if (seqno <= this.#newest) return;
    if (this.#word !== undefined && this.isNewestShown) this.#showNewest(at);
    this.#newest = seqno;
    this.#compare(seqno);
  }

  /**
   * Learns the answer to a head poll: its newest block counts even if it is older than the known one. Returns false for
   * one of another chain: then no client may get it, and of it only the fault is learned.
   */
  name({ at, seqno, first, globalId }: ChainHead): boolean {
    this.#globalId = globalId;
    // An API that names no chain is believed.
    if (globalId !== undefined) this.#chain = this.#dependencies.isOurChain(globalId) ? 'ours' : 'other';
    else if (this.#chain === 'unknown') this.#chain = 'ours';
    this.#reportFault();
    if (this.#chain === 'other') return false;
    this.#showTime(at);
    if (seqno >= this.#highest || !this.#isHighestCurrent()) this.#reach(seqno);
    this.#newest = seqno;
    this.#oldest = first;
    this.#showNewest(at);
    this.#compare(seqno);
    this.#below = this.#highestOfHour.seqno - seqno;
    this.#lowPolls = this.#below > FALLEN_BLOCKS ? this.#lowPolls + 1 : 0;
    return true;
  }

  /** A block that it named was requested from it. */
  checked(seqno: number, isThere: boolean): void {
    this.#lackedBlock = isThere ? undefined : seqno;
    this.#reportFault();
  }

  /** Call when it lacked a block that it reports to have, and another indexer has the block. */
  refute(seqno: number): void {
    if (seqno <= this.newestBlock - SETTLED_BLOCKS) this.checked(seqno, false);
  }

  /** From now on calls this when the indexer is found to follow another chain. Call once. */
  onOtherChain(found: () => void): void {
    this.#otherChain = found;
  }

  /** Call when the clock has jumped: earlier instants then mean nothing. */
  forget(): void {
    this.#time = 0;
    this.#timeShownAt = Number.NEGATIVE_INFINITY;
    this.#reachedAt = Number.NEGATIVE_INFINITY;
    this.#newestShownAt = Number.NEGATIVE_INFINITY;
    this.#grewAt = this.#now();
    this.#word = undefined;
    this.#highestOfHour = { seqno: -1, at: 0 };
    this.#lowPolls = 0;
  }

  #showTime(at: EpochMs): void {
    const now = this.#now();
    if (at <= 0 || !isPlausible(at, now) || (at < this.#time && this.#isTimeCurrent())) return;
    this.#time = at;
    this.#timeShownAt = now;
  }

  #reach(seqno: number): void {
    if (seqno < 0) return;
    const now = this.#now();
    if (seqno !== this.#highest) this.#grewAt = now;
    this.#highest = seqno;
    this.#reachedAt = now;
  }

  /** An answer has shown the newest block, which was made at `blockAt` (0 if unknown). */
  #showNewest(blockAt: EpochMs): void {
    const at = this.#now();
    this.#newestShownAt = at;
    this.#word = { at, ageMs: blockAt > 0 ? at - blockAt : undefined, sameForMs: at - this.#grewAt };
  }

  #compare(seqno: number): void {
    const now = this.#now();
    const { seqno: highest, at } = this.#highestOfHour;
    if (seqno >= highest || now - at > FALLEN_FROM_MS) this.#highestOfHour = { seqno, at: now };
  }

  #reportFault(): void {
    const fault = this.#chain === 'other' ? 'other-chain' : this.#lackedBlock === undefined ? undefined : 'lacks-block';
    if (fault === this.#fault) return;
    this.#fault = fault;
    const why = fault === 'other-chain' ? `global_id ${this.#globalId}` : `block ${this.#lackedBlock}`;
    this.#dependencies.onFault(fault, why);
    if (fault === 'other-chain') this.#otherChain();
  }

  #isTimeCurrent(): boolean {
    return this.#now() - this.#timeShownAt <= SHOWN_HOLDS_MS;
  }

  #isHighestCurrent(): boolean {
    return this.#now() - this.#reachedAt <= SHOWN_HOLDS_MS;
  }
}
