import { SHARED_CLOCKS_DIFFER_BY_MS } from '../clock.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow, ListedBlock } from '../ton/block-facts.ts';
import type { OwnerLookUps } from './owner-look-ups.ts';
import type { Proofs } from './proofs.ts';
import { MOST_LAG_MS, type ReadBlocks } from './read-blocks.ts';

/** A page with rows of a block. */
export interface PageOfRows {
  readonly state: 'there';
  readonly rows: readonly BlockRow[];
  /** True if no row of the block follows these, unless its indexer is known to cut pages. */
  readonly isWhole: boolean;
  readonly askedAt: MonotonicMs;
  /** The address of the indexer; empty if there is only one. */
  readonly indexer: string;
}

/**
 * The result of a request for a page of the transactions of a block. `absent`: the indexer lacks the block, or shows no
 * row of it. Each masterchain block has transactions. `refused`: the indexer refuses the size of the page.
 */
export type Page = PageOfRows | { readonly state: 'absent'; readonly askedAt: MonotonicMs } | 'refused';

/** The newest block that an indexer has named. */
export interface NamedHead {
  readonly seqno: number;
  readonly askedAt: MonotonicMs;
  readonly indexer: string;
  /** True if another instance has requested it: then it may have done so a little earlier. */
  readonly isShared?: true;
}

/**
 * Where the follower reads blocks. Each function resolves with `undefined` without a usable answer, and never rejects.
 * `askedAt`: the instant of the request to the indexer, perhaps by another instance.
 */
export interface BlockSource {
  /** The newest block that the indexers have. `known`: one that has this block is asked; -1 for any. */
  head(known: number): Promise<NamedHead | undefined>;
  /** The newest 1000 masterchain blocks. */
  newest(
    known: number,
  ): Promise<{ readonly blocks: readonly ListedBlock[]; readonly askedAt: MonotonicMs } | undefined>;
  /**
   * Final rows in their order; no page if any of them is not final. `pastCache`: sends the request to the indexer,
   * whatever the cache holds.
   */
  page(seqno: number, offset: number, limit: number, pastCache: boolean): Promise<Page | undefined>;
  /** The number of transactions of a block and its shard blocks. */
  count(seqno: number): Promise<number | undefined>;
}

/** The head is polled this often: with a round trip, well below the second for which a mark counts as young. */
const HEAD_EVERY_MS: Ms = 450;

/** After a head poll without an answer, or whose answer is below the known head, the next one follows after this. */
const HEAD_AGAIN_MS: Ms = 150;

/** A gap, or a block that could not be read, is requested again after this. */
const AGAIN_AFTER_MS: Ms = 250;

/** A block whose pages are not whole is loaded past the cache at most this often. */
const INCOMPLETE_AGAIN_MS: Ms = 1000;

/** A start that failed is repeated after this. */
const BEGIN_AGAIN_MS: Ms = 500;

/** A start reads the blocks of this time, in seconds by the time of blocks, to cover a replica that lags by less. */
const READ_BACK_SECONDS = MOST_LAG_MS / 1000;

/** The number of blocks that are read at the same time. */
const AT_ONCE = 2;

/** With more blocks to read than this, the follower catches up. */
const CAUGHT_UP_BLOCKS = 3;

/** The size of a page, and the size after an indexer has refused the first. */
const [PAGE_ROWS, SMALL_PAGE_ROWS] = [1000, 100];

export interface BlockFollowerDependencies {
  readonly source: BlockSource;
  readonly blocks: ReadBlocks;
  readonly proofs: Pick<Proofs, 'read' | 'skipped' | 'caughtUp'>;
  /** Absent if no operation in use needs the owners of jetton wallets. */
  readonly lookUps?: Pick<OwnerLookUps, 'read' | 'headIs'> | undefined;
  readonly now: () => MonotonicMs;
  /** Called once for each indexer that has cut a page and not reported it. */
  readonly onPagesCut: (indexer: string) => void;
  readonly onBug: (error: unknown) => void;
}

interface BlockReading {
  isUnderWay: boolean;
  notBefore: MonotonicMs;
  /** The kept pages were incomplete. */
  pastCache: boolean;
}

/**
 * Reads every masterchain block that the indexer has, also above a gap, and remembers gaps. Call {@link tick} every few
 * hundredths of a second while it is on; each call starts whatever is due. A block counts as read with one page that is
 * surely whole, because a round is one transaction of the database, or once its rows are as many as the block has. Blocks
 * of an indexer that has cut a page are always counted.
 */
export class BlockFollower {
  readonly #dependencies: BlockFollowerDependencies;
  readonly #readings = new Map<number, BlockReading>();
  #isBegun = false;
  #isBeginning = false;
  #isAskingHead = false;
  #nextHeadAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #nextBeginAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #pageRows = PAGE_ROWS;
  /** The indexers whose pages had fewer rows than their blocks. */
  readonly #cutting = new Set<string>();
  /** Answers to requests of an earlier era are dropped. */
  #era = 0;

  constructor(dependencies: BlockFollowerDependencies) {
    this.#dependencies = dependencies;
  }

  /** True if there is more to read than a new block brings. */
  get isCatchingUp(): boolean {
    return !this.#isBegun || this.#dependencies.blocks.unread.length > CAUGHT_UP_BLOCKS;
  }

  /** Starts whatever is due. */
  tick(): void {
    const { blocks, now } = this.#dependencies;
    if (this.#isBegun && blocks.mustBeginAnew(now())) this.beginAnew();
    if (!this.#isBegun) this.#begin();
    else {
      this.#askHead();
      this.#readNext();
    }
  }

  /**
   * Call when blocks may be skipped, or nothing that was read counts any more: everything was purged, the clock has
   * jumped. Answers requested so far are not proven, and the next {@link tick} reads the blocks of the last
   * 32 s again.
   */
  beginAnew(): void {
    this.#era++;
    this.#isBegun = false;
    this.#isBeginning = false;
    this.#isAskingHead = false;
    this.#readings.clear();
    this.#dependencies.blocks.lose();
    this.#dependencies.proofs.skipped();
  }

  /** Call when blocks are no longer followed. */
  stop(): void {
    this.beginAnew();
    this.#dependencies.blocks.forgetHead();
  }

  #begin(): void {
    const { source, blocks, now } = this.#dependencies;
    if (this.#isBeginning || now() < this.#nextBeginAt) return;
    this.#isBeginning = true;
    this.#nextBeginAt = now() + BEGIN_AGAIN_MS;
    this.#run(source.newest(blocks.head), (newest) => {
      this.#isBeginning = false;
      if (newest === undefined || newest.blocks.length === 0) return;
      const newestAt = Math.max(...newest.blocks.map(({ at }) => at));
      const toRead = newest.blocks.filter(({ at }) => at >= newestAt - READ_BACK_SECONDS);
      const from = Math.min(...toRead.map(({ seqno }) => seqno));
      const seqnos = newest.blocks.map(({ seqno }) => seqno);
      const waitMs = blocks.begin(seqnos, from, newest.askedAt);
      if (waitMs > 0) {
        this.#nextBeginAt = now() + waitMs;
        return;
      }
      this.#isBegun = true;
      this.#nextHeadAt = Number.NEGATIVE_INFINITY;
    });
  }

  #askHead(): void {
    const { source, blocks, lookUps, now } = this.#dependencies;
    if (this.#isAskingHead || now() < this.#nextHeadAt) return;
    this.#isAskingHead = true;
    this.#nextHeadAt = now() + HEAD_EVERY_MS;
    this.#run(source.head(blocks.head), (head) => {
      this.#isAskingHead = false;
      if (head === undefined || head.seqno < blocks.head) this.#nextHeadAt = now() + HEAD_AGAIN_MS;
      if (head === undefined) return;
      const { seqno, askedAt, indexer, isShared } = head;
      this.#nextHeadAt = Math.min(this.#nextHeadAt, askedAt + HEAD_EVERY_MS);
      blocks.headIs(seqno, askedAt);
      lookUps?.headIs(seqno, isShared === true ? askedAt - SHARED_CLOCKS_DIFFER_BY_MS : askedAt, indexer);
    });
  }

  #readNext(): void {
    const { blocks, now } = this.#dependencies;
    const unread = new Set(blocks.unread);
    for (const seqno of this.#readings.keys()) if (!unread.has(seqno)) this.#readings.delete(seqno);
    for (const seqno of unread) if (!this.#readings.has(seqno)) this.#readings.set(seqno, newBlockReading());
    const readings = [...this.#readings];
    const free = AT_ONCE - readings.filter(([, { isUnderWay }]) => isUnderWay).length;
    // Those that were not requested yet come first, and of these the newest: while a block is a gap, others are read.
    const due = readings
      .filter(([, { isUnderWay, notBefore }]) => !isUnderWay && notBefore <= now())
      .toSorted(([seqno, one], [otherSeqno, other]) => one.notBefore - other.notBefore || otherSeqno - seqno);
    for (const [seqno, reading] of due.slice(0, Math.max(0, free))) {
      reading.isUnderWay = true;
      this.#run(this.#read(seqno, reading, this.#era), () => {
        reading.isUnderWay = false;
      });
    }
  }

  async #read(seqno: number, reading: BlockReading, era: number): Promise<void> {
    const { source, blocks, proofs, lookUps, now } = this.#dependencies;
    reading.notBefore = now() + AGAIN_AFTER_MS;
    const limit = this.#pageRows;
    const page = await source.page(seqno, 0, limit, reading.pastCache);
    if (era !== this.#era || page === undefined) return;
    if (page === 'refused') {
      this.#pageRows = SMALL_PAGE_ROWS;
      return;
    }
    if (page.state === 'absent') {
      blocks.isAbsent(seqno, page.askedAt);
      return;
    }
    blocks.isThere(seqno, page.askedAt);
    const isWhole = page.isWhole && !this.#cutting.has(page.indexer);
    const whole = isWhole ? page : await this.#counted(seqno, page, limit, reading);
    if (era !== this.#era || whole === undefined) return;
    // The touches first: once the block counts as read, look-ups rely on them.
    proofs.read(whole.rows);
    lookUps?.read({ seqno, rows: whole.rows, mark: blocks.markOf(seqno), indexer: whole.indexer });
    blocks.isRead(seqno);
  }

  /** The rows of a block whose first page may be cut, and their indexer; `undefined` unless they are as many as it has. */
  async #counted(
    seqno: number,
    first: PageOfRows,
    limit: number,
    reading: BlockReading,
  ): Promise<{ readonly rows: readonly BlockRow[]; readonly indexer: string | undefined } | undefined> {
    const { source, now, onPagesCut } = this.#dependencies;
    const count = await source.count(seqno);
    if (count === undefined) return undefined;
    const pages = [first];
    let rows = first.rows;
    while (rows.length < count && pages.at(-1)?.rows.length === limit) {
      const page = await source.page(seqno, rows.length, limit, reading.pastCache);
      if (page === undefined || page === 'refused' || page.state === 'absent') return undefined;
      pages.push(page);
      rows = [...rows, ...page.rows];
    }
    const indexers = new Set(pages.map(({ indexer }) => indexer));
    if (rows.length === count) return { rows, indexer: indexers.size === 1 ? first.indexer : undefined };
    for (const indexer of indexers.difference(this.#cutting)) {
      this.#cutting.add(indexer);
      onPagesCut(indexer);
    }
    reading.pastCache = true;
    reading.notBefore = now() + INCOMPLETE_AGAIN_MS;
    return undefined;
  }

  /** Takes a result, unless it was requested in an earlier era. */
  #run<T>(asked: Promise<T>, take: (result: T) => void): void {
    const era = this.#era;
    asked
      .then((result) => {
        if (era !== this.#era) return;
        take(result);
        // At the start nothing is proven before the blocks of the last 32 s are read.
        if (this.#isBegun && this.#dependencies.blocks.mark > Number.NEGATIVE_INFINITY)
          this.#dependencies.proofs.caughtUp();
        if (this.#isBegun) this.tick();
      })
      .catch(this.#dependencies.onBug);
  }
}

function newBlockReading(): BlockReading {
  return { isUnderWay: false, notBefore: 0, pastCache: false };
}
