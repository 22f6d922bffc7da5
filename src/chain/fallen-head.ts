import type { EpochMs, Ms } from '../time-units.ts';

/** Replicas behind one address differ by a few blocks; a head that is further below has fallen. */
const FALLEN_BLOCKS = 100;

/** A head has fallen when this many polls in a row show it: a request may reach a replica that has just started. */
const POLLS_IN_A_ROW = 2;

/** A head is compared with the highest head of this time. */
const COMPARED_MS: Ms = 60_000;

/** After this time a head that is still below counts as the newest block. */
const LONGEST_MS: Ms = 60 * 60_000;

/** The block that a head has fallen from, and the head of the last poll. */
export interface Fall {
  readonly from: number;
  readonly to: number;
}

/**
 * Detects that the head of an indexer has fallen back, as after a restore of its database: more than 100 blocks below
 * the highest head of the last 60 s, in two polls in a row. It lasts until the old head is reached again, for at most
 * an hour.
 */
export class FallenHead {
  readonly #now: () => EpochMs;
  /** Heads of the last 60 s, each higher than all later ones. */
  #heads: { readonly seqno: number; readonly at: EpochMs }[] = [];
  #lowPolls = 0;
  #from = 0;
  #since: EpochMs = 0;
  #fall: Fall | undefined;

  constructor(now: () => EpochMs) {
    this.#now = now;
  }

  /** `undefined` while it has not fallen. */
  get fall(): Fall | undefined {
    return this.#fall;
  }

  /**
   * True while it has fallen, and if the last poll named a head that is too low: then the next poll decides whether it
   * has fallen.
   */
  get isLow(): boolean {
    return this.#lowPolls > 0 || this.#fall !== undefined;
  }

  /** Learns a block in an answer: the head has reached it. */
  shown(seqno: number): void {
    this.#add(seqno);
  }

  /** Learns the head of a poll. */
  named(seqno: number): void {
    const now = this.#now();
    if (this.#fall !== undefined) {
      this.#fall = { from: this.#from, to: seqno };
      if (seqno >= this.#from || now - this.#since > LONGEST_MS) this.forget();
    }
    this.#add(seqno);
    const highest = this.#heads[0]?.seqno ?? seqno;
    this.#lowPolls = highest - seqno > FALLEN_BLOCKS ? this.#lowPolls + 1 : 0;
    if (this.#fall !== undefined || this.#lowPolls < POLLS_IN_A_ROW) return;
    this.#from = highest;
    this.#since = now;
    this.#fall = { from: highest, to: seqno };
  }

  #add(seqno: number): void {
    const at = this.#now();
    this.#heads = this.#heads.filter((head) => head.seqno > seqno && at - head.at <= COMPARED_MS);
    this.#heads.push({ seqno, at });
  }

  /** Also call when the clock has jumped: no earlier head is compared any more. */
  forget(): void {
    this.#heads = [];
    this.#lowPolls = 0;
    this.#fall = undefined;
  }
}
