/** The chain's time: which masterchain block is committed when. Instants are epoch ms. */
export class BlockClock {
  readonly startAt: number;
  readonly blockMs: number;
  readonly firstSeqno: number;

  constructor(options: { startAt: number; blockMs: number; firstSeqno: number }) {
    this.startAt = options.startAt;
    this.blockMs = options.blockMs;
    this.firstSeqno = options.firstSeqno;
  }

  /** When a masterchain block is committed and indexed. */
  committedAt(seqno: number): number {
    return this.startAt + (seqno - this.firstSeqno) * this.blockMs;
  }

  /** The first masterchain block committed at that instant or later. */
  seqnoFrom(instant: number): number {
    return this.firstSeqno + Math.ceil((instant - this.startAt) / this.blockMs);
  }

  /** The newest masterchain block committed by that instant. */
  seqnoBy(instant: number): number {
    return this.firstSeqno + Math.floor((instant - this.startAt) / this.blockMs);
  }
}
