const CALLS_A_RETRY = 10;
const MOST_CALLS_COUNTED = 100;
const FREE_EVERY_MS = 1000;

/**
 * Limits how often a call may be sent a second time: to a tenth of the calls, of which at most a hundred can be saved
 * up, and one a second in any case. So an indexer that fails everything does not get twice the requests.
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

  /** To be called once for every call, not for its retry. */
  countCall(): void {
    this.#calls = Math.min(MOST_CALLS_COUNTED, this.#calls + 1);
  }

  /**
   * Whether a call may be sent again; `true` uses up a retry. Only for a GET that failed before any byte of its answer
   * came.
   */
  tryTake(): boolean {
    const now = this.#now();
    const isPaid = this.#calls >= CALLS_A_RETRY;
    if (!isPaid && now - this.#lastAt < FREE_EVERY_MS) return false;
    if (isPaid) this.#calls -= CALLS_A_RETRY;
    this.#lastAt = now;
    return true;
  }
}
