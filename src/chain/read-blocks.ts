import type { MonotonicMs, Ms } from '../time-units.ts';

/** A block that is missing below the head for longer than this many blocks is given up. */
const MOST_BEHIND_BLOCKS = 150;

/** A head that is lower by more than this in two polls in a row is that of a database that fell back; else of a replica. */
const MOST_FALLEN_BLOCKS = 100;
const FALLEN_POLLS = 2;

/** A follower that is this far behind begins anew: to read it all would take longer than to read the newest blocks. */
const MOST_BEHIND_MS: Ms = 60_000;

/**
 * Which masterchain blocks the follower has read, and which are missing. From this follows the mark: the latest instant of
 * which the answers say that every block that was there then is read.
 *
 *   mark = the oldest instant at which the indexer was asked for what it said is not there:
 *     blocks above the head, when the head was last asked for,
 *     a missing block below the head (a gap: rounds are committed out of order), when its last 404 was asked for,
 *     a block that is there and not read yet, when the last answer was asked for that did not show it
 *
 * Instants are those at which requests were sent, by the monotonic clock: an answer says nothing of what came later.
 */
export class ReadBlocks {
  /** The blocks up to the head that are not read, with the instant of the last answer that did not show them. */
  readonly #unread = new Map<number, MonotonicMs>();
  /** The newest block that any answer has shown. */
  #head = -1;
  /** When the head was asked for last, as far as the answer showed no block that is not known. */
  #headAskedAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** Of those, the ones that an answer has shown: they are no gaps. */
  readonly #there = new Set<number>();
  #newestRead = -1;
  #hasJumped = false;
  /** How many polls in a row have named a much lower head than the known one. */
  #fallenPolls = 0;

  /** The newest block that was read; -1 before the first. */
  get newestRead(): number {
    return this.#newestRead;
  }

  /** The newest block that any answer has shown. */
  get head(): number {
    return this.#head;
  }

  /** The blocks to look for, the oldest first: those that are not read yet, and gaps. */
  get unread(): readonly number[] {
    return [...this.#unread.keys()].toSorted((one, other) => one - other);
  }

  /** Of which instant every block that was there is read; -Infinity where that is not known. */
  get mark(): MonotonicMs {
    if (this.#hasJumped) return Number.NEGATIVE_INFINITY;
    return Math.min(this.#headAskedAt, ...this.#unread.values());
  }

  /** Whether the follower is too far behind to read all that it has missed, or the database has fallen back. */
  mustBeginAnew(now: MonotonicMs): boolean {
    if (this.#hasJumped || this.#fallenPolls >= FALLEN_POLLS) return true;
    if (this.#unread.size > MOST_BEHIND_BLOCKS || now - this.#headAskedAt > MOST_BEHIND_MS) return true;
    return [...this.#there].some((seqno) => this.#isOld(seqno));
  }

  /**
   * Begins anew: of the newest blocks, as a list shows them that was asked for at `askedAt`, those from `from` on are to be
   * read, and those that the list lacks are gaps.
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
   * Takes a head that was asked for at `askedAt`. An older head than the known one is the word of a replica that lags: it
   * says nothing of the blocks above the known head.
   */
  headIs(seqno: number, askedAt: MonotonicMs): void {
    this.#fallenPolls = seqno < this.#head - MOST_FALLEN_BLOCKS ? this.#fallenPolls + 1 : 0;
    if (seqno < this.#head) return;
    this.#show(seqno, askedAt);
    this.#headAskedAt = Math.max(this.#headAskedAt, askedAt);
  }

  /** The indexer, asked at `askedAt`, said that it does not have this block. */
  isAbsent(seqno: number, askedAt: MonotonicMs): void {
    const known = this.#unread.get(seqno);
    if (known !== undefined) this.#unread.set(seqno, Math.max(known, askedAt));
  }

  /** An answer that was asked for at `askedAt` has shown that this block is there. */
  isThere(seqno: number, askedAt: MonotonicMs): void {
    this.#show(seqno, askedAt);
    if (this.#unread.has(seqno)) this.#there.add(seqno);
  }

  /** This block has been read, whole. */
  isRead(seqno: number): void {
    this.#unread.delete(seqno);
    this.#there.delete(seqno);
    this.#newestRead = Math.max(this.#newestRead, seqno);
  }

  /** Gives up gaps that are too old: if such a block comes after all, it is never read. */
  giveUpOldGaps(): void {
    for (const seqno of this.unread) if (this.#isOld(seqno) && !this.#there.has(seqno)) this.#unread.delete(seqno);
  }

  #isOld(seqno: number): boolean {
    return seqno < this.#newestRead - MOST_BEHIND_BLOCKS;
  }

  /** A new block shows those below it. None of them was there when the head was last asked for, as far as is known. */
  #show(seqno: number, askedAt: MonotonicMs): void {
    this.#hasJumped ||= seqno - this.#head > MOST_BEHIND_BLOCKS;
    if (this.#hasJumped) return;
    const absentAt = Math.min(this.#headAskedAt, askedAt);
    for (let shown = this.#head + 1; shown <= seqno; shown++) this.#unread.set(shown, absentAt);
    this.#head = Math.max(this.#head, seqno);
  }
}
