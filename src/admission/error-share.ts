/** The weight of the newest outcome: of the last fifty or so, and of the last few hundred. */
const MEMORY = { now: 1 / 50, usual: 1 / 300 };
/** By how much more than usual, as a share of all outcomes, errors may come before they mean something. */
const TOLERATED = 0.2;

/**
 * Tells an outbreak of errors from the few that poisoned requests always cause. Errors that stay whatever the load are
 * no sign of overload: in time they become the usual.
 */
export class ErrorShare {
  #now = 0;
  #usual = 0;

  get isUnusual(): boolean {
    return this.#now > this.#usual + TOLERATED;
  }

  add(outcome: 'answered' | 'failed'): void {
    const value = outcome === 'failed' ? 1 : 0;
    this.#now += (value - this.#now) * MEMORY.now;
    this.#usual += (value - this.#usual) * MEMORY.usual;
  }

  /** Begins to count again what comes now; what is usual is kept. */
  restart(): void {
    this.#now = this.#usual;
  }
}
