import type { MonotonicMs, Ms } from '../time-units.ts';

export interface RetryBudgetDependencies {
  readonly now: () => MonotonicMs;
}

export interface RetryBudgetOptions {
  /** This number of calls pays for a retry. */
  readonly callsARetry: number;
  /** The maximum number of saved calls. */
  readonly mostCalls: number;
  /** The number of saved calls at the start. */
  readonly calls: number;
  /** One retry in this time is free. */
  readonly freeEveryMs: Ms;
}

/** One retry for ten calls, up to ten retries saved up, and one retry a second in any case. */
export const RETRIES: RetryBudgetOptions = { callsARetry: 10, mostCalls: 100, calls: 0, freeEveryMs: 1000 };

/** One hedge for twenty calls, up to twenty hedges saved up, which is also the number at the start. */
export const HEDGES: RetryBudgetOptions = {
  callsARetry: 20,
  mostCalls: 400,
  calls: 400,
  freeEveryMs: Number.POSITIVE_INFINITY,
};

/**
 * Limits second tries to a part of the calls. So an indexer that fails everything, or has become slow, does not get
 * twice the requests.
 */
export class RetryBudget {
  readonly #now: () => MonotonicMs;
  readonly #options: RetryBudgetOptions;
  /** Calls that have not paid for a retry yet. */
  #calls: number;
  #lastAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor({ now }: RetryBudgetDependencies, options: RetryBudgetOptions) {
    this.#now = now;
    this.#options = options;
    this.#calls = options.calls;
  }

  /** Call once for every call, not for its retry. */
  countCall(): void {
    this.#calls = Math.min(this.#options.mostCalls, this.#calls + 1);
  }

  /** Returns true if a call may be sent again, and uses up a retry. */
  tryTake(): boolean {
    const { callsARetry, freeEveryMs } = this.#options;
    const now = this.#now();
    const isPaid = this.#calls >= callsARetry;
    if (!isPaid && now - this.#lastAt < freeEveryMs) return false;
    if (isPaid) this.#calls -= callsARetry;
    this.#lastAt = now;
    return true;
  }
}
