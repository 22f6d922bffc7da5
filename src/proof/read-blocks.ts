import type { MonotonicMs, Ms } from '../time-units.ts';

/** With more blocks to read than this, the follower starts again: to read them all would take longer than a start. */
const MOST_TO_READ = 300;

/**
 * A gap is given up after this time. A block that is there and could not be read for this long, or a head that could
 * not be polled, begins anew.
 */
const PATIENCE_MS: Ms = 60_000;

/** Replicas may be up to 30 s apart: with less, an answer of the one behind would lack blocks that were never read. */
export const MOST_LAG_MS: Ms = 32_000;

/**
 * After more blocks were committed at once than can be read, nothing is proven for this long: a replica that lags may
 * not have them yet.
 */
const AFTER_JUMP_MS = MOST_LAG_MS;

/**
 * The same after a jump of the head beyond the list of a start. Batches of blocks are committed in any order, and those
 * below the list are not looked for.
 */
const AFTER_JUMP_BEYOND_LIST_MS: Ms = 60_000;

/** A wait for the next start is this long at most: within it the chain does not jump by itself. */
const LONGEST_STEP_MS: Ms = 10_000;

/** A database that lacks the newest block that was read before is the state of an earlier time, at most for this long. */
const OLDER_FOR_MS: Ms = 10 * 60_000;

const NEVER: MonotonicMs = Number.NEGATIVE_INFINITY;

interface UnreadBlock {
  /**
   * `shown`: it or a newer block is there. `there`: it is there itself. `gap`: the indexer lacks it nevertheless.
   * `given-up`: a gap that nobody looks for any more.
   */
  readonly state: 'shown' | 'there' | 'gap' | 'given-up';
  /** When it was first missed. */
  readonly since: MonotonicMs;
  /** It holds the mark back to this instant. */
  readonly mark: MonotonicMs;
}

/**
 * Which masterchain blocks the follower has read, and which are missing. This yields the mark: the latest instant for
 * which the answers show that every block that existed then is read.
 *
 *   mark = the oldest of the instants at which the indexer reported that a block is not there:
 *     blocks above the head: the last head poll,
 *     a block that is there and not read yet, as each head is: the last answer that did not show it,
 *     a missing block above all blocks that were read (a replica that lags): its last 404,
 *     a missing block below one that was read (rounds are committed out of order): never
 *     the head is below a block that was read before the last start: never, because the database is an older state
 *
 * Instants are those of the requests, by the monotonic clock: an answer shows nothing about later blocks.
 */
export class ReadBlocks {
  /** The unread blocks up to the head. */
  readonly #unread = new Map<number, UnreadBlock>();
  /** The newest block in any answer; -1 while it is not known. */
  #head = -1;
  /**
   * The instant of the last head poll whose answer was not below the known head: then no block above {@link head} was
   * there.
   */
  #headAskedAt: MonotonicMs = NEVER;
  /** The last head poll, if its answer was below the known head, and the newest block in answers to later requests. */
  #low: { readonly askedAt: MonotonicMs; shown: number } | undefined;
  /** The database has committed more blocks at once than can be read, or it has fallen back; or a start is due. */
  #isLost = false;
  #newestRead = -1;
  /** The newest block that was read before the last start, and an instant at which the database had it. */
  #summit = { seqno: -1, at: NEVER };
  /** Nothing can be proven before this. */
  #waitsUntil: MonotonicMs = NEVER;

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
    const toRead = [...this.#unread].filter(([, { state }]) => state !== 'given-up');
    return toRead.map(([seqno]) => seqno).toSorted((one, other) => one - other);
  }

  /** True if this block is not read, given up or not. Blocks from before the list of the start count as read. */
  isUnread(seqno: number): boolean {
    return this.#unread.has(seqno) || seqno >= this.#firstUnknown;
  }

  /** The oldest block that {@link isUnread}; infinite before the start. */
  get oldestUnread(): number {
    let oldest = this.#firstUnknown;
    for (const seqno of this.#unread.keys()) oldest = Math.min(oldest, seqno);
    return oldest;
  }

  /** The instant for which every existing block is read; -Infinity while unknown. */
  get mark(): MonotonicMs {
    if (this.#isLost || this.#isOlder) return NEVER;
    let mark = this.#headAskedAt;
    for (const [seqno, block] of this.#unread) {
      if (block.state === 'gap' && seqno < this.#newestRead) return NEVER;
      mark = Math.min(mark, block.mark);
    }
    return mark;
  }

  /**
   * True if the follower is too far behind to read all missed blocks, or the database has fallen back. Gaps do not
   * count, however many they are.
   */
  mustBeginAnew(now: MonotonicMs): boolean {
    if (this.#isLost || now - this.#headAskedAt > PATIENCE_MS) return true;
    const toRead = [...this.#unread.values()].filter((block) => !isMissing(block));
    return toRead.length > MOST_TO_READ || toRead.some(({ since }) => now - since > PATIENCE_MS);
  }

  /**
   * Starts again with a list of the newest blocks, requested at `askedAt`. The blocks from `from` on are to be read,
   * and those that were gaps. Blocks that the list lacks are gaps, or stay given up. If more blocks were committed than
   * can be read, nothing can be proven for a while: returns the time after which to start again, or 0.
   */
  begin(listed: readonly number[], from: number, askedAt: MonotonicMs): Ms {
    if (this.#newestRead > this.#summit.seqno) this.#summit = { seqno: this.#newestRead, at: this.#headAskedAt };
    const [oldest, head] = [Math.min(...listed), Math.max(...listed)];
    const there = new Set(listed);
    const missed = new Map([...this.#unread].filter(([, block]) => isMissing(block)));
    const known = this.#known;
    if (this.#head >= 0 && head - known > MOST_TO_READ)
      this.#wait(askedAt + (oldest > known + 1 ? AFTER_JUMP_BEYOND_LIST_MS : AFTER_JUMP_MS));
    if (listed.filter((seqno) => missed.has(seqno)).length > MOST_TO_READ) this.#wait(askedAt + AFTER_JUMP_MS);
    const waitMs = Math.max(0, this.#waitsUntil - askedAt);
    this.#unread.clear();
    for (let seqno = oldest; seqno <= head; seqno++) {
      const missedBlock = missed.get(seqno);
      if (!there.has(seqno)) this.#unread.set(seqno, missing(missedBlock?.since ?? askedAt, askedAt));
      else if (waitMs === 0 && (seqno >= from || missedBlock !== undefined))
        this.#unread.set(seqno, { state: 'there', since: askedAt, mark: NEVER });
    }
    this.#newestRead = -1;
    this.#low = undefined;
    // While it waits, blocks are left out.
    this.#isLost = waitMs > 0;
    this.#head = head;
    this.#headAskedAt = askedAt;
    return Math.min(waitMs, LONGEST_STEP_MS);
  }

  /** Call when the next {@link begin} skips blocks: until all blocks of its list are read, nothing is known. */
  lose(): void {
    this.#isLost = true;
  }

  /** Call when blocks are no longer followed: a later head is no jump. */
  forgetHead(): void {
    this.#head = -1;
  }

  /**
   * Takes a head that was requested at `askedAt`. A head below the known one comes from a replica that lags, and shows
   * nothing about blocks above the known head. But after two of them in a row, the database has fallen back, or the
   * known head was never there: unless a request between them was answered with a block above the second head.
   */
  headIs(seqno: number, askedAt: MonotonicMs): void {
    if (seqno < this.#head) {
      this.#isLost ||= this.#low !== undefined && this.#low.shown <= seqno;
      this.#low = { askedAt, shown: -1 };
      return;
    }
    this.#low = undefined;
    this.#isThere(seqno, askedAt);
    this.#headAskedAt = Math.max(this.#headAskedAt, askedAt);
  }

  /** The indexer answered a request of `askedAt` that it does not have this block: gives up a gap that is too old. */
  isAbsent(seqno: number, askedAt: MonotonicMs): void {
    const block = this.#unread.get(seqno);
    // If it was there before, this replica lags, or the answer is older than the one that showed it.
    if (block === undefined || block.state === 'there' || askedAt <= block.since) return;
    this.#unread.set(seqno, missing(block.since, askedAt));
  }

  /** An answer to a request of `askedAt` has shown that this block is there. */
  isThere(seqno: number, askedAt: MonotonicMs): void {
    if (this.#low !== undefined && askedAt > this.#low.askedAt) this.#low.shown = Math.max(this.#low.shown, seqno);
    this.#isThere(seqno, askedAt);
  }

  /** The last instant at which an unread block was not there, as far as is known; -Infinity if it may have been. */
  markOf(seqno: number): MonotonicMs {
    return this.#unread.get(seqno)?.mark ?? NEVER;
  }

  /** This block has been read completely. */
  isRead(seqno: number): void {
    this.#unread.delete(seqno);
    this.#newestRead = Math.max(this.#newestRead, seqno);
  }

  #wait(until: MonotonicMs): void {
    this.#waitsUntil = Math.max(this.#waitsUntil, until);
  }

  get #isOlder(): boolean {
    return this.#head < this.#summit.seqno && this.#headAskedAt - this.#summit.at < OLDER_FOR_MS;
  }

  /** Everything up to this block is read, or a gap. */
  get #known(): number {
    let known = this.#head;
    for (const [seqno, block] of this.#unread) if (!isMissing(block)) known = Math.min(known, seqno - 1);
    return known;
  }

  get #firstUnknown(): number {
    return this.#head < 0 ? Number.POSITIVE_INFINITY : this.#head + 1;
  }

  #isThere(seqno: number, askedAt: MonotonicMs): void {
    this.#show(seqno, askedAt);
    const block = this.#unread.get(seqno);
    if (block === undefined) return;
    // The batch that this gap belongs to has been committed.
    this.#isLost ||= block.state === 'gap' && [...this.#unread.values()].filter(isMissing).length > MOST_TO_READ;
    this.#unread.set(seqno, { ...block, state: 'there' });
  }

  /** A new block also shows those below it. At the last head poll none of them was there, as far as is known. */
  #show(seqno: number, askedAt: MonotonicMs): void {
    this.#isLost ||= seqno - this.#head > MOST_TO_READ;
    if (this.#isLost) return;
    const mark = Math.min(this.#headAskedAt, askedAt);
    for (let shown = this.#head + 1; shown <= seqno; shown++)
      this.#unread.set(shown, { state: 'shown', since: askedAt, mark });
    this.#head = Math.max(this.#head, seqno);
  }
}

/** A block that an answer to a request of `askedAt` lacks. */
function missing(since: MonotonicMs, askedAt: MonotonicMs): UnreadBlock {
  return askedAt - since < PATIENCE_MS
    ? { state: 'gap', since, mark: askedAt }
    : { state: 'given-up', since, mark: Number.POSITIVE_INFINITY };
}

function isMissing({ state }: UnreadBlock): boolean {
  return state === 'gap' || state === 'given-up';
}
