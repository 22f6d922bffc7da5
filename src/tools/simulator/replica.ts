import type { Chain } from './chain.ts';

/**
 * One indexer with a database of its own, as far as it has got with the chain: level with the present, a fixed time
 * behind it, standing still, or catching up. Blocks that it commits late keep the times that they were made at.
 */
export class Replica {
  readonly #chain: Chain;
  readonly #now: () => number;
  #lagMs = 0;
  /**
   * At the instant `at` the replica had reached `reached`, and has advanced since at this multiple of the chain's pace.
   */
  #pace = Number.POSITIVE_INFINITY;
  #at = 0;
  #reached = 0;

  /** @param now The present, epoch ms. */
  constructor(chain: Chain, now: () => number) {
    this.#chain = chain;
    this.#now = now;
  }

  /** The chain as this replica has indexed it. */
  get chain(): Chain {
    this.#chain.advanceTo(this.#reachedNow());
    return this.#chain;
  }

  /** Stays so far behind the present, ms. Keeps what it has already committed. */
  lag(ms: number): void {
    this.#lagMs = ms;
  }

  /** Commits no more blocks. */
  standStill(): void {
    this.#goOn(0);
  }

  /** Commits what it has missed, `pace` blocks in the time of one, until it is level with the present again. */
  catchUp(pace: number): void {
    this.#goOn(pace);
  }

  #goOn(pace: number): void {
    this.#reached = this.#reachedNow();
    this.#at = this.#now();
    this.#pace = pace;
  }

  #reachedNow(): number {
    const present = this.#now() - this.#lagMs;
    if (this.#pace === Number.POSITIVE_INFINITY) return present;
    return Math.min(present, this.#reached + (this.#now() - this.#at) * this.#pace);
  }
}
