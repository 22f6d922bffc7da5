const LT_PER_ROUND = 1_000_000;

/** The chain's time: which masterchain round is committed when. Instants are epoch ms. */
export class RoundClock {
  readonly startAt: number;
  readonly blockMs: number;
  readonly firstSeqno: number;
  readonly #lts = new Map<number, number>();

  constructor(options: { startAt: number; blockMs: number; firstSeqno: number }) {
    this.startAt = options.startAt;
    this.blockMs = options.blockMs;
    this.firstSeqno = options.firstSeqno;
  }

  /** When a round is committed and indexed. */
  committedAt(seqno: number): number {
    return this.startAt + (seqno - this.firstSeqno) * this.blockMs;
  }

  /** The first round committed at that instant or later. */
  roundFrom(instant: number): number {
    return this.firstSeqno + Math.ceil((instant - this.startAt) / this.blockMs);
  }

  /** The newest round committed by that instant. */
  roundBy(instant: number): number {
    return this.firstSeqno + Math.floor((instant - this.startAt) / this.blockMs);
  }

  /** The next free logical time of a round that is not committed yet. */
  nextLt(seqno: number): number {
    const count = (this.#lts.get(seqno) ?? 0) + 1;
    this.#lts.set(seqno, count);
    return seqno * LT_PER_ROUND + count;
  }

  /** Says that a round takes no more transactions. */
  closeRound(seqno: number): void {
    this.#lts.delete(seqno);
  }
}
