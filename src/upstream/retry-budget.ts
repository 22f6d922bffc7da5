const CALLS_A_RETRY = 10;
const MOST_CALLS_COUNTED = 100;
const FREE_EVERY_MS = 1000;

/**
 * How often a call may be sent a second time: a tenth of the calls, counted over the last hundred, and one a second
 * whatever the number of calls. An indexer that fails everything is so not asked twice as much.
 */
export class RetryBudget {
  readonly #now: () => number;
  /** Calls that have not paid for a retry yet. */
  #calls = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** To be called once for every call, not for its second try. */
  countCall(): void {
    this.#calls = Math.min(MOST_CALLS_COUNTED, this.#calls + 1);
  }

  /** Whether a call may be sent again; a yes is spent. Only for a GET that broke before any byte of its answer. */
  tryTake(): boolean {
    const now = this.#now();
    const isPaid = this.#calls >= CALLS_A_RETRY;
    if (!isPaid && now - this.#lastAt < FREE_EVERY_MS) return false;
    if (isPaid) this.#calls -= CALLS_A_RETRY;
    this.#lastAt = now;
    return true;
  }
}
