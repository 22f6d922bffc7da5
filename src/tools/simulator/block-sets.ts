import type { BlockClock } from './block-clock.ts';
import { type BlockId, masterchainBlock, shardBlocks } from './blocks.ts';
import type { Transaction } from './trace.ts';

/** A masterchain block with the shard blocks that it commits, and every transaction in them. */
export interface BlockSet {
  readonly seqno: number;
  /** When it is committed and indexed, epoch ms. */
  readonly committedAt: number;
  /** The masterchain block first, then the shard blocks. */
  readonly blocks: readonly BlockId[];
  /** In the order of their logical times, once the block is committed. */
  readonly transactions: readonly Transaction[];
}

interface OpenBlockSet extends BlockSet {
  transactions: Transaction[];
}

/** The committed masterchain blocks of a chain's window, and those of the future that have transactions already. */
export class BlockSets {
  readonly #clock: BlockClock;
  readonly #bySeqno = new Map<number, OpenBlockSet>();
  readonly #transactions = new Map<string, Transaction>();

  constructor(clock: BlockClock) {
    this.#clock = clock;
  }

  /** A block set that has been opened. */
  get(seqno: number): BlockSet | undefined {
    return this.#bySeqno.get(seqno);
  }

  /** A transaction of any block set, by its canonical hash. */
  transaction(hash: string): Transaction | undefined {
    return this.#transactions.get(hash);
  }

  /** Puts a transaction into its block set. */
  add(transaction: Transaction): void {
    this.#open(transaction.seqno).transactions.push(transaction);
    this.#transactions.set(transaction.hash, transaction);
  }

  /** Closes a block set: it takes no more transactions. */
  close(seqno: number): void {
    this.#open(seqno).transactions.sort((a, b) => a.lt - b.lt);
    this.#clock.closeBlock(seqno);
  }

  /** Drops a block set with its transactions. */
  forget(seqno: number): void {
    const blockSet = this.#bySeqno.get(seqno);
    this.#bySeqno.delete(seqno);
    for (const transaction of blockSet?.transactions ?? []) this.#transactions.delete(transaction.hash);
  }

  #open(seqno: number): OpenBlockSet {
    const existing = this.#bySeqno.get(seqno);
    if (existing !== undefined) return existing;
    const blockSet: OpenBlockSet = {
      seqno,
      committedAt: this.#clock.committedAt(seqno),
      blocks: [masterchainBlock(seqno), ...shardBlocks(seqno)],
      transactions: [],
    };
    this.#bySeqno.set(seqno, blockSet);
    return blockSet;
  }
}
