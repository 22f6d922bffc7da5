import { type Head, SHOWN_HOLDS_MS } from '../indexer/head.ts';
import type { EpochMs } from '../time-units.ts';

/**
 * How far this instance knows that its chain has got: from its indexers, and from heads in Redis, which its clients
 * read. Those do not show where an indexer of this instance is, so they are not part of any {@link Head}.
 */
export class KnownChain {
  readonly #heads: readonly Pick<Head, 'hasReached'>[];
  readonly #now: () => EpochMs;
  #seqno = -1;
  /** When a head in Redis last named this block or a newer one. */
  #namedAt = Number.NEGATIVE_INFINITY;

  /** `heads`: of all indexers of this instance. */
  constructor(heads: readonly Pick<Head, 'hasReached'>[], now: () => EpochMs) {
    this.#heads = heads;
    this.#now = now;
  }

  /** True if an answer, or a head in Redis, has shown in the last 60 s that the chain has reached a masterchain block. */
  hasReached(seqno: number): boolean {
    return (seqno <= this.#seqno && this.#isCurrent()) || this.#heads.some((head) => head.hasReached(seqno));
  }

  /** Learns a head that Redis has returned. */
  learn(seqno: number): void {
    if (seqno < this.#seqno && this.#isCurrent()) return;
    this.#seqno = seqno;
    this.#namedAt = this.#now();
  }

  /** Call when the clock has jumped: earlier instants then mean nothing. */
  forget(): void {
    this.#namedAt = Number.NEGATIVE_INFINITY;
  }

  #isCurrent(): boolean {
    return this.#now() - this.#namedAt <= SHOWN_HOLDS_MS;
  }
}
