import type { MonotonicMs, Ms } from '../time-units.ts';

/**
 * A missing block is given up when it is more than this many blocks below the newest block that was read. With more
 * unread blocks than this, or a head that jumps by more, the follower starts again.
 */
const MOST_BEHIND_BLOCKS = 150;

/**
 * A head that is lower by more than this in two polls in a row belongs to a database that fell back; otherwise to a
 * replica.
 */
const MOST_FALLEN_BLOCKS = 100;
const FALLEN_POLLS = 2;

/**
 * A follower that is this far behind starts again: reading everything would take longer than reading the newest blocks.
 */
const MOST_BEHIND_MS: Ms = 60_000;

/**
 * Which masterchain blocks the follower has read, and which are missing. This yields the mark: the latest instant for
 * which the answers show that every block that existed then is read.
 *
 *   mark = the oldest of the instants at which the indexer reported that a block is not there:
 *     blocks above the head: the last head poll,
 *     a missing block below the head (a gap: rounds are committed out of order): its last 404,
 *     a block that is there and not read yet: the last answer that did not show it
 *
 * Instants are those of the requests, by the monotonic clock: an answer shows nothing about later blocks.
 */
export class ReadBlocks {
  /** The unread blocks up to the head, with the instant of the last answer that did not show them. */
  readonly #unread = new Map<number, MonotonicMs>();
  /** The newest block in any answer. */
  #head = -1;
  /**
   * The instant of the last head poll whose answer was not below the known head: then no block above {@link head} was
   * there.
   */
  #headAskedAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The unread blocks that an answer has shown: they are not gaps. */
  readonly #there = new Set<number>();
  #newestRead = -1;
  #hasJumped = false;
  /** The number of polls in a row with a much lower head than the known one. */
  #fallenPolls = 0;

  /** The newest block that was read; -1 before the first. */
  get newestRead(): number {
    return this.#newestRead;
  }

  /** The newest block in any answer. */
  get head(): number {
    return this.#head;
  }

  /** The blocks to look for, the oldest first: unread blocks and gaps. */
  get unread(): readonly number[] {
    return [...this.#unread.keys()].toSorted((one, other) => one - other);
  }

  /** True if this block is not read, and may be read later. Blocks from before the start never are. */
  isUnread(seqno: number): boolean {
    return this.#unread.has(seqno) || seqno >= this.#firstUnknown;
  }

  /** The oldest block that {@link isUnread}; infinite before the start. */
  get oldestUnread(): number {
    return Math.min(this.#firstUnknown, ...this.#unread.keys());
  }

  /** The instant for which every existing block is read; -Infinity while unknown. */
  get mark(): MonotonicMs {
    if (this.#hasJumped) return Number.NEGATIVE_INFINITY;
    return Math.min(this.#headAskedAt, ...this.#unread.values());
  }

  /** True if the follower is too far behind to read all missed blocks, or the database has fallen back. */
  mustBeginAnew(now: MonotonicMs): boolean {
    if (this.#hasJumped || this.#fallenPolls >= FALLEN_POLLS) return true;
    if (this.#unread.size > MOST_BEHIND_BLOCKS || now - this.#headAskedAt > MOST_BEHIND_MS) return true;
    return [...this.#there].some((seqno) => this.#isOld(seqno));
  }

  /**
   * Starts again with a list of the newest blocks, requested at `askedAt`. The blocks from `from` on are to be read.
   * Blocks that the list lacks are gaps.
   */
  begin(listed: readonly number[], from: number, askedAt: MonotonicMs): void {
    const [oldest, head] = [Math.min(...listed), Math.max(...listed)];
    const there = new Set(listed);
    this.#unread.clear();
    this.#there.clear();
    this.#newestRead = -1;
    this.#hasJumped = false;
    this.#fallenPolls = 0;
    for (let seqno = oldest; seqno <= head; seqno++) {
      if (!there.has(seqno)) this.#unread.set(seqno, askedAt);
      else if (seqno >= from) this.#unread.set(seqno, Number.NEGATIVE_INFINITY);
    }
    this.#head = head;
    this.#headAskedAt = askedAt;
  }

  /**
   * Takes a head that was requested at `askedAt`. A head older than the known one comes from a replica that lags: it
   * shows nothing about blocks above the known head.
   */
  headIs(seqno: number, askedAt: MonotonicMs): void {
    this.#fallenPolls = seqno < this.#head - MOST_FALLEN_BLOCKS ? this.#fallenPolls + 1 : 0;
    if (seqno < this.#head) return;
    this.#show(seqno, askedAt);
    this.#headAskedAt = Math.max(this.#headAskedAt, askedAt);
  }

  /** The indexer answered a request of `askedAt` that it does not have this block. */
  isAbsent(seqno: number, askedAt: MonotonicMs): void {
    const known = this.#unread.get(seqno);
    if (known !== undefined) this.#unread.set(seqno, Math.max(known, askedAt));
  }

  /** An answer to a request of `askedAt` has shown that this block is there. */
  isThere(seqno: number, askedAt: MonotonicMs): void {
    this.#show(seqno, askedAt);
    if (this.#unread.has(seqno)) this.#there.add(seqno);
  }

  /** This block has been read completely. */
  isRead(seqno: number): void {
    this.#unread.delete(seqno);
    this.#there.delete(seqno);
    this.#newestRead = Math.max(this.#newestRead, seqno);
  }

  /** Gives up gaps that are too old: if such a block appears later, it is never read. */
  giveUpOldGaps(): void {
    for (const seqno of this.unread) if (this.#isOld(seqno) && !this.#there.has(seqno)) this.#unread.delete(seqno);
  }

  get #firstUnknown(): number {
    return this.#head < 0 ? Number.POSITIVE_INFINITY : this.#head + 1;
  }

  #isOld(seqno: number): boolean {
    return seqno < this.#newestRead - MOST_BEHIND_BLOCKS;
  }

  /** A new block also shows those below it. At the last head poll none of them was there, as far as is known. */
  #show(seqno: number, askedAt: MonotonicMs): void {
    this.#hasJumped ||= seqno - this.#head > MOST_BEHIND_BLOCKS;
    if (this.#hasJumped) return;
    const absentAt = Math.min(this.#headAskedAt, askedAt);
    for (let shown = this.#head + 1; shown <= seqno; shown++) this.#unread.set(shown, absentAt);
    this.#head = Math.max(this.#head, seqno);
  }
}
