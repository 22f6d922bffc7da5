import { type BlockId, masterchainBlock, shardBlocks } from './blocks.ts';
import type { RoundClock } from './round-clock.ts';
import type { Transaction } from './trace.ts';

/** A masterchain round: its blocks and every transaction in them. */
export interface Round {
  readonly seqno: number;
  /** When it is committed, epoch ms; `visibleAt` is later only where rounds become visible out of order. */
  readonly committedAt: number;
  readonly visibleAt: number;
  /** The masterchain block first, then the shard blocks. */
  readonly blocks: readonly BlockId[];
  /** In the order of their logical times, once the round is committed. */
  readonly transactions: readonly Transaction[];
}

interface OpenRound extends Round {
  transactions: Transaction[];
}

/** The committed rounds of a chain's window, and rounds of the future that have transactions already. */
export class Rounds {
  readonly #clock: RoundClock;
  readonly #outOfOrder: boolean;
  readonly #bySeqno = new Map<number, OpenRound>();
  readonly #transactions = new Map<string, Transaction>();

  /** @param outOfOrder Every fifth round becomes visible two and a half block times late. */
  constructor(clock: RoundClock, outOfOrder: boolean) {
    this.#clock = clock;
    this.#outOfOrder = outOfOrder;
  }

  /** A round that has been opened. */
  get(seqno: number): Round | undefined {
    return this.#bySeqno.get(seqno);
  }

  /** A transaction of any round, by its canonical hash. */
  transaction(hash: string): Transaction | undefined {
    return this.#transactions.get(hash);
  }

  /** Puts a transaction into its round. */
  add(transaction: Transaction): void {
    this.#open(transaction.seqno).transactions.push(transaction);
    this.#transactions.set(transaction.hash, transaction);
  }

  /** A round takes no more transactions. */
  close(seqno: number): void {
    this.#open(seqno).transactions.sort((a, b) => a.lt - b.lt);
    this.#clock.closeRound(seqno);
  }

  /** Drops a round with its transactions. */
  forget(seqno: number): void {
    const round = this.#bySeqno.get(seqno);
    this.#bySeqno.delete(seqno);
    for (const transaction of round?.transactions ?? []) this.#transactions.delete(transaction.hash);
  }

  #open(seqno: number): OpenRound {
    const existing = this.#bySeqno.get(seqno);
    if (existing !== undefined) return existing;
    const committedAt = this.#clock.committedAt(seqno);
    const late = this.#outOfOrder && seqno % 5 === 3;
    const round: OpenRound = {
      seqno,
      committedAt,
      visibleAt: late ? committedAt + 2.5 * this.#clock.blockMs : committedAt,
      blocks: [masterchainBlock(seqno), ...shardBlocks(seqno)],
      transactions: [],
    };
    this.#bySeqno.set(seqno, round);
    return round;
  }
}
