import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow, ListedBlock } from '../ton/block-facts.ts';
import type { OwnerLookUps } from './owner-look-ups.ts';
import type { Proofs } from './proofs.ts';
import type { ReadBlocks } from './read-blocks.ts';

/** The result of a request for a block. */
export type Looked =
  /**
   * `transactions`: the number of transactions of the block and its shard blocks; `undefined` if the answer does not
   * show it for certain.
   */
  | { readonly state: 'there'; readonly askedAt: MonotonicMs; readonly transactions: number | undefined }
  | { readonly state: 'absent'; readonly askedAt: MonotonicMs };

/**
 * A page of the transactions of a block: `refused` if the indexer refuses its size. `indexer`: the address of the
 * indexer; empty if there is only one.
 */
export type Page =
  | { readonly rows: readonly BlockRow[]; readonly askedAt: MonotonicMs; readonly indexer: string }
  | 'refused';

/** The newest block that an indexer has named. */
export interface NamedHead {
  readonly seqno: number;
  readonly askedAt: MonotonicMs;
  readonly indexer: string;
}

/**
 * Where the follower reads blocks. Each function resolves with `undefined` without a usable answer, and never rejects.
 * `askedAt`: the instant of the request to the indexer, perhaps by another instance.
 */
export interface BlockSource {
  /** The newest block that the indexers have. */
  head(): Promise<NamedHead | undefined>;
  /** The newest 1000 masterchain blocks. */
  newest(): Promise<{ readonly blocks: readonly ListedBlock[]; readonly askedAt: MonotonicMs } | undefined>;
  /** `pastCache`: sends the request to the indexer, whatever the cache holds. */
  look(seqno: number, pastCache: boolean): Promise<Looked | undefined>;
  /** Final rows in their order; no page if any of them is not final. */
  page(seqno: number, offset: number, limit: number, pastCache: boolean): Promise<Page | undefined>;
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
const READ_BACK_SECONDS = 10;

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
  readonly onBug: (error: unknown) => void;
}

interface BlockReading {
  isUnderWay: boolean;
  notBefore: MonotonicMs;
  /** A kept 404 would hide a new block for a while. */
  looksPastCache: boolean;
  /** The kept pages were incomplete. */
  readsPastCache: boolean;
}

/**
 * Reads every masterchain block that the indexer has, also above a gap, and remembers gaps. Call {@link tick} every few
 * hundredths of a second while it is on; each call starts whatever is due. A block counts as read once its rows are as
 * many as the block and its shard blocks have, all of them final.
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
   * 10 s again.
   */
  beginAnew(): void {
    this.#era++;
    this.#isBegun = false;
    this.#isBeginning = false;
    this.#isAskingHead = false;
    this.#readings.clear();
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
    this.#run(source.newest(), (newest) => {
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
    const { source, blocks, now } = this.#dependencies;
    if (this.#isAskingHead || now() < this.#nextHeadAt) return;
    this.#isAskingHead = true;
    this.#nextHeadAt = now() + HEAD_EVERY_MS;
    this.#run(source.head(), (head) => {
      this.#isAskingHead = false;
      if (head === undefined || head.seqno < blocks.head) this.#nextHeadAt = now() + HEAD_AGAIN_MS;
      if (head === undefined) return;
      blocks.headIs(head.seqno, head.askedAt);
      this.#dependencies.lookUps?.headIs(head.seqno, head.askedAt, head.indexer);
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
    const looked = await source.look(seqno, reading.looksPastCache);
    if (looked === undefined || era !== this.#era) return;
    if (looked.state === 'absent') {
      reading.looksPastCache = true;
      blocks.isAbsent(seqno, looked.askedAt);
      return;
    }
    blocks.isThere(seqno, looked.askedAt);
    const pages =
      looked.transactions === undefined ? undefined : await this.#pages(seqno, looked.transactions, reading, era);
    if (era !== this.#era) return;
    const rows = pages?.rows;
    if (rows === undefined || rows.length !== looked.transactions) {
      reading.readsPastCache ||= rows !== undefined;
      reading.notBefore = now() + (rows === undefined ? AGAIN_AFTER_MS : INCOMPLETE_AGAIN_MS);
      return;
    }
    // The touches first: once the block counts as read, look-ups rely on them.
    proofs.read(rows);
    lookUps?.read({ seqno, rows, mark: blocks.markOf(seqno), indexer: pages?.indexer });
    blocks.isRead(seqno);
  }

  /** The rows of all pages, and the indexer that sent all of them; `undefined` if one of them could not be read. */
  async #pages(
    seqno: number,
    count: number,
    { readsPastCache }: BlockReading,
    era: number,
  ): Promise<{ readonly rows: readonly BlockRow[]; readonly indexer: string | undefined } | undefined> {
    const { source, blocks } = this.#dependencies;
    const rows: BlockRow[] = [];
    const indexers = new Set<string>();
    do {
      const page = await source.page(seqno, rows.length, this.#pageRows, readsPastCache);
      if (page === 'refused') this.#pageRows = SMALL_PAGE_ROWS;
      if (page === undefined || page === 'refused' || era !== this.#era) return undefined;
      blocks.isThere(seqno, page.askedAt);
      rows.push(...page.rows);
      indexers.add(page.indexer);
      if (page.rows.length < this.#pageRows) break;
    } while (rows.length < count);
    return { rows, indexer: indexers.size === 1 ? [...indexers][0] : undefined };
  }

  /** Takes a result, unless it was requested in an earlier era. */
  #run<T>(asked: Promise<T>, take: (result: T) => void): void {
    const era = this.#era;
    asked
      .then((result) => {
        if (era !== this.#era) return;
        take(result);
        // At the start nothing is proven before the blocks of the last 10 s are read.
        if (this.#isBegun && this.#dependencies.blocks.mark > Number.NEGATIVE_INFINITY)
          this.#dependencies.proofs.caughtUp();
        if (this.#isBegun) this.tick();
      })
      .catch(this.#dependencies.onBug);
  }
}

function newBlockReading(): BlockReading {
  return { isUnderWay: false, notBefore: 0, looksPastCache: false, readsPastCache: false };
}
