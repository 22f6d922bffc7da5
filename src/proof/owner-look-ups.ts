import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow } from '../ton/block-facts.ts';
import { isOrdinaryWallet } from '../ton/ordinary-wallets.ts';
import type { WalletRow } from '../ton/owned-wallets.ts';
import { MOST_LAG_MS, type ReadBlocks } from './read-blocks.ts';
import type { SettledWallets } from './settled-wallets.ts';

/**
 * The jetton wallets among some accounts, by one look into a database: of an indexer that has the block `seqno`, if there
 * is one. `indexer`: its address. Each function resolves with `undefined` without a usable answer, and never rejects.
 * `isShared`: the answer may be up to 400 ms old, and requested by another instance.
 */
export interface OwnerSource {
  wallets(accounts: readonly string[], seqno: number, isShared: boolean): Promise<LookedUp | undefined>;
  /** The same with the newest transaction of every account, not of jetton wallets alone. */
  states(accounts: readonly string[], seqno: number): Promise<LookedUp | undefined>;
}

export interface LookedUp {
  readonly rows: readonly WalletRow[];
  /** The newest transaction of each account that the answer shows. */
  readonly lts: ReadonlyMap<string, bigint>;
  readonly indexer: string;
}

/** The maximum number of accounts in a request: its head stays below the 8 KB of gateways. */
const MOST_ACCOUNTS = 100;

/**
 * A block that an answer did not settle is requested again after these, and then with later blocks: immediately by the
 * states of its accounts, because it may have no jetton wallet, and later by its wallets again.
 */
const AGAIN_AFTER_MS: readonly Ms[] = [0, 400, 800];

/** After a request without an answer, the next one follows after this. */
const FAILED_AGAIN_MS: Ms = 250;

/** Nothing is proven before the blocks of this time in a row are settled: a replica may lag by less. */
const SETTLED_IN_A_ROW_MS = MOST_LAG_MS;

/** With more unsettled blocks, the look-up begins anew. */
const MOST_BLOCKS = 60;

/** The look-up is alive while its mark is younger than this. */
const ALIVE_MS: Ms = 1000;

const NEVER: MonotonicMs = Number.NEGATIVE_INFINITY;

export interface OwnerLookUpsDependencies {
  readonly source: OwnerSource;
  readonly settled: SettledWallets;
  readonly blocks: Pick<ReadBlocks, 'mark'>;
  readonly now: () => MonotonicMs;
  readonly onBug: (error: unknown) => void;
}

/** A whole block, as the follower has read it. */
export interface PageOfBlock {
  readonly seqno: number;
  readonly rows: readonly BlockRow[];
  /** The last instant at which it was known not to exist. */
  readonly mark: MonotonicMs;
  /** The address of the indexer from which all of its rows come; `undefined` if there are several. */
  readonly indexer: string | undefined;
}

interface UnsettledBlock extends PageOfBlock {
  readonly readAt: MonotonicMs;
  /** The lowest head that its own indexer has named since it was read: all blocks above it are later commits. */
  lowestHead: number;
  readonly pieces: Set<Piece>;
}

/** Some of the accounts of a block that are requested together. */
interface Piece {
  readonly block: UnsettledBlock;
  /** The newest transaction of each account in the block. */
  readonly accounts: ReadonlyMap<string, BlockRow>;
  /** The number of answers that did not settle it. */
  attempts: number;
  notBefore: MonotonicMs;
}

/**
 * Looks up the owners of the jetton wallets in each block that was read. A block does not name the owner of a new wallet,
 * and any account can become one.
 *
 * Blocks are committed as a whole, so an answer comes from a database that has a block if one of its rows shows exactly
 * the newest transaction of its account in this block. A later transaction proves nothing: a replica may have the next
 * block and lack this one. Such an answer settles its accounts, and so does one that shows in this way a block that the
 * same indexer had called absent after it had shown this one. A block is settled once all of its accounts are, but for
 * those with the code of an ordinary wallet.
 */
export class OwnerLookUps {
  readonly #dependencies: OwnerLookUpsDependencies;
  readonly #blocks = new Map<number, UnsettledBlock>();
  #isOn = false;
  #isAsking = false;
  /** The instant from which all blocks that are read are looked up. */
  #begunAt: MonotonicMs | undefined;
  #validFrom: MonotonicMs = Number.POSITIVE_INFINITY;
  /** Answers to requests of an earlier era are dropped. */
  #era = 0;

  constructor(dependencies: OwnerLookUpsDependencies) {
    this.#dependencies = dependencies;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** The instant for which every existing block is read and settled; -Infinity while unknown. */
  get mark(): MonotonicMs {
    let { mark } = this.#dependencies.blocks;
    for (const block of this.#blocks.values()) mark = Math.min(mark, block.mark);
    return mark;
  }

  /** True until the blocks of 32 s in a row are settled. */
  get isBeginning(): boolean {
    return this.#validFrom === Number.POSITIVE_INFINITY;
  }

  /** True if every block that existed a second ago is settled, and so were those of the 32 s before. */
  get isAlive(): boolean {
    return !this.isBeginning && this.#dependencies.now() - this.mark < ALIVE_MS;
  }

  /** True if the blocks of the 32 s before this instant were settled then, and none was left out since. */
  areReadSince(instant: MonotonicMs): boolean {
    return instant >= this.#validFrom;
  }

  /** The oldest block that is read and not settled; infinite if all are settled. */
  get oldestUnsettled(): number {
    return Math.min(...this.#blocks.keys());
  }

  isUnsettled(seqno: number): boolean {
    return this.#blocks.has(seqno);
  }

  /** Switches it on or off. It begins with the next block. */
  switched(isOn: boolean): void {
    this.#isOn = isOn;
    this.beginAnew();
  }

  /** Call when blocks may be skipped: answers requested so far are not proven, nor any before 32 s of settled blocks. */
  beginAnew(): void {
    this.#era++;
    this.#isAsking = false;
    this.#blocks.clear();
    this.#begunAt = undefined;
    this.#validFrom = Number.POSITIVE_INFINITY;
    this.#dependencies.settled.forgetShown();
  }

  /** Takes a whole block. Call before it counts as read. */
  read(page: PageOfBlock): void {
    const { settled, now } = this.#dependencies;
    if (!this.#isOn) return;
    // One that was there before the look-up began is covered by the 32 s of blocks after it.
    if (page.mark === NEVER) {
      settled.blockIsSettled(page.seqno);
      return;
    }
    const block = { ...page, readAt: now(), lowestHead: Number.POSITIVE_INFINITY, pieces: new Set<Piece>() };
    for (const accounts of piecesOf(page.rows)) block.pieces.add({ block, accounts, attempts: 0, notBefore: NEVER });
    if (block.pieces.size === 0) settled.blockIsSettled(page.seqno);
    else this.#blocks.set(page.seqno, block);
    if (this.#blocks.size > MOST_BLOCKS) this.beginAnew();
  }

  /**
   * Takes a head that an indexer has named in an answer to a request of `askedAt`. A head below a block that was read before
   * comes from a replica that is behind: it says nothing about the blocks of the others.
   */
  headIs(seqno: number, askedAt: MonotonicMs, indexer: string): void {
    for (const block of this.#blocks.values()) {
      const isAfter = block.indexer === indexer && askedAt >= block.readAt && seqno >= block.seqno;
      if (isAfter) block.lowestHead = Math.min(block.lowestHead, seqno);
    }
  }

  /** Sends the next request, if one is due. Call every few hundredths of a second. */
  tick(): void {
    if (!this.#isOn) return;
    this.#count();
    if (this.#isAsking) return;
    const { source } = this.#dependencies;
    const due = this.#due();
    const byStates = due.filter(({ attempts }) => attempts === 1);
    // Repetitions go along with a first look-up: a later block may settle them.
    const first = due.every(({ attempts }) => attempts === 0) ? due.find((piece) => this.#isShared(piece)) : undefined;
    const pieces = first === undefined ? batchOf(byStates.length > 0 ? byStates : this.#dueWithOthers()) : [first];
    if (pieces.length === 0) return;
    const accounts = [...new Set(pieces.flatMap((piece) => [...piece.accounts.keys()]))];
    const newest = Math.max(...pieces.map(({ block }) => block.seqno));
    this.#isAsking = true;
    const era = this.#era;
    (byStates.length > 0 ? source.states(accounts, newest) : source.wallets(accounts, newest, first !== undefined))
      .then((answer) => {
        if (era !== this.#era) return;
        this.#isAsking = false;
        this.#take(pieces, answer);
      })
      .catch(this.#dependencies.onBug);
  }

  #count(): void {
    const { mark } = this;
    if (mark === NEVER) return;
    this.#begunAt ??= this.#dependencies.now();
    if (mark - this.#begunAt >= SETTLED_IN_A_ROW_MS)
      this.#validFrom = Math.min(this.#validFrom, this.#dependencies.now());
  }

  /**
   * True for the first look-up of a piece, which instances share, so it has the same accounts in each of them. After a
   * second it goes along with others.
   */
  #isShared({ attempts, block }: Piece): boolean {
    return attempts === 0 && this.#dependencies.now() - block.readAt < ALIVE_MS;
  }

  #pieces(): Piece[] {
    return [...this.#blocks.values()].flatMap((block) => [...block.pieces]);
  }

  #due(): Piece[] {
    return this.#pieces().filter(({ notBefore }) => notBefore <= this.#dependencies.now());
  }

  /** The pieces to request: those that are due, and with them those that were requested often enough. */
  #dueWithOthers(): Piece[] {
    const isOften = ({ attempts }: Piece) => attempts > AGAIN_AFTER_MS.length;
    const due = this.#due().toSorted((one, other) => Number(isOften(one)) - Number(isOften(other)));
    return due.every(isOften) ? [] : due;
  }

  #take(pieces: readonly Piece[], answer: LookedUp | undefined): void {
    const at = this.#dependencies.now();
    if (answer === undefined) {
      for (const piece of pieces) piece.notBefore = at + FAILED_AGAIN_MS;
      return;
    }
    const shown = pieces.filter((piece) => isShown(piece, answer.lts));
    const isSettled = (piece: Piece) =>
      shown.some((other) => other === piece || isCommittedBefore(piece, other, answer.indexer));
    for (const piece of pieces) {
      if (isSettled(piece)) this.#settle(piece, answer.rows);
      else {
        piece.notBefore = at + (AGAIN_AFTER_MS[piece.attempts] ?? 0);
        piece.attempts++;
      }
    }
  }

  #settle(piece: Piece, rows: readonly WalletRow[]): void {
    const { block, accounts } = piece;
    this.#dependencies.settled.settle(accounts, rows, block.rows);
    block.pieces.delete(piece);
    if (block.pieces.size > 0) return;
    // The touches first: once the block counts as settled, look-ups rely on them.
    this.#blocks.delete(block.seqno);
    this.#dependencies.settled.blockIsSettled(block.seqno);
  }
}

/** The accounts of a block, but for those with the code of an ordinary wallet, with their newest transactions. */
function piecesOf(rows: readonly BlockRow[]): Map<string, BlockRow>[] {
  const newest = new Map<string, BlockRow>();
  for (const row of rows) if (row.lt >= (newest.get(row.account)?.lt ?? 0n)) newest.set(row.account, row);
  const asked = [...newest.values()].filter(({ codeHash }) => !isOrdinaryWallet(codeHash));
  const pieces: Map<string, BlockRow>[] = [];
  for (let at = 0; at < asked.length; at += MOST_ACCOUNTS)
    pieces.push(new Map(asked.slice(at, at + MOST_ACCOUNTS).map((row) => [row.account, row])));
  return pieces;
}

/** As many of the pieces, in their order, as fit into a request. */
function batchOf(pieces: readonly Piece[]): Piece[] {
  const batch: Piece[] = [];
  const accounts = new Set<string>();
  for (const piece of pieces) {
    const more = accounts.union(new Set(piece.accounts.keys()));
    if (more.size > MOST_ACCOUNTS) continue;
    for (const account of more) accounts.add(account);
    batch.push(piece);
  }
  return batch;
}

/** True if an answer comes from a database with the block. */
function isShown({ accounts }: Piece, lts: ReadonlyMap<string, bigint>): boolean {
  for (const [account, { lt }] of accounts) if (lts.get(account) === lt) return true;
  return false;
}

/** True if a database of this indexer that has the block of another piece has this one, too. */
function isCommittedBefore({ block }: Piece, other: Piece, indexer: string): boolean {
  return block.indexer === indexer && other.block.seqno > block.lowestHead;
}
