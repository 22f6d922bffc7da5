import type { EpochMs, Ms } from '../time-units.ts';

/** Replicas behind one address differ by a few blocks; a head that is further below has fallen. */
const FALLEN_BLOCKS = 100;

/** A head has fallen when this many polls in a row show it: a request may reach a replica that has just started. */
const POLLS_IN_A_ROW = 2;

/** A head is compared with the highest head of this time. */
const COMPARED_MS: Ms = 60 * 60_000;

/** Detects that the head of an indexer has fallen back, as after a restore of its database. */
export class FallenHead {
  readonly #now: () => EpochMs;
  #highest = -1;
  #highestAt: EpochMs = 0;
  #below = 0;
  #lowPolls = 0;

  constructor(now: () => EpochMs) {
    this.#now = now;
  }

  /** The blocks by which the head is below the highest of the last hour; 0 unless two polls in a row name over 100. */
  get blocks(): number {
    return this.#lowPolls < POLLS_IN_A_ROW ? 0 : this.#below;
  }

  /** True if the last poll named a head that is too low: then the next poll may decide that it has fallen. */
  get isLow(): boolean {
    return this.#lowPolls > 0;
  }

  /** Learns a block in an answer: the head has reached it. */
  shown(seqno: number): void {
    const now = this.#now();
    if (seqno < this.#highest && now - this.#highestAt <= COMPARED_MS) return;
    this.#highest = seqno;
    this.#highestAt = now;
  }

  /** Learns the head of a poll. */
  named(seqno: number): void {
    this.shown(seqno);
    this.#below = this.#highest - seqno;
    this.#lowPolls = this.#below > FALLEN_BLOCKS ? this.#lowPolls + 1 : 0;
  }

  /** Call when the clock has jumped: no earlier head is compared any more. */
  forget(): void {
    this.#highest = -1;
    this.#lowPolls = 0;
  }
}
