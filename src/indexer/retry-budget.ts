export interface RetryBudgetOptions {
  /** A retry is paid for by so many calls. */
  readonly callsARetry: number;
  /** The most retries that can be saved up, as they are at the start. */
  readonly most: number;
}

/** A tenth of the calls, ten of them at once. */
export const RETRIES: RetryBudgetOptions = { callsARetry: 10, most: 10 };

/** One in twenty calls, twenty of them at once. */
export const HEDGES: RetryBudgetOptions = { callsARetry: 20, most: 20 };

/**
 * Limits how often a call may be sent a second time, to a part of the calls. So an indexer that fails everything, or has
 * become slow, does not get twice the requests.
 */
export class RetryBudget {
  readonly #options: RetryBudgetOptions;
  /** Calls that have not paid for a retry yet. */
  #calls: number;

  constructor(options: RetryBudgetOptions) {
    this.#options = options;
    this.#calls = this.#mostCalls;
  }

  /** To be called once for every call, not for its retry. */
  countCall(): void {
    this.#calls = Math.min(this.#mostCalls, this.#calls + 1);
  }

  /** Whether a call may be sent again; `true` uses up a retry. */
  tryTake(): boolean {
    if (this.#calls < this.#options.callsARetry) return false;
    this.#calls -= this.#options.callsARetry;
    return true;
  }

  get #mostCalls(): number {
    return this.#options.callsARetry * this.#options.most;
  }
}
