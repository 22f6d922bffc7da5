import { inMap } from '../in-map.ts';
import type { Ms } from '../time-units.ts';
import type { RetryBudget } from './retry-budget.ts';

/**
 * The times of this many answers of an operation are kept. The quantile is computed again when a quarter of them is
 * new.
 */
const REMEMBERED = 128;

/** A request is hedged when it takes longer than this part of its operation's answers, 0 to 1. */
const QUANTILE = 0.95;

/** No request is hedged before this time. */
const SHORTEST_MS: Ms = 50;

interface AnswerTimes {
  readonly last: Ms[];
  count: number;
  hedgeAfterMs: Ms;
}

/**
 * Decides when a request has taken so long that it is also sent to another indexer: longer than 95 % of the answers.
 */
export class Hedging {
  readonly budget: RetryBudget;
  readonly #unknownMs: Ms;
  readonly #times = new Map<string, AnswerTimes>();

  /** `unknownMs`: while the time of answers is unknown, a request is hedged after this time. */
  constructor(budget: RetryBudget, unknownMs: Ms) {
    this.budget = budget;
    this.#unknownMs = unknownMs;
  }

  /** Remembers the time of an answer. */
  answered(operation: string, ms: Ms): void {
    const times = this.#timesOf(operation);
    times.last[times.count++ % REMEMBERED] = ms;
    if (times.count % (REMEMBERED / 4) !== 0) return;
    const sorted = times.last.toSorted((a, b) => a - b);
    times.hedgeAfterMs = Math.max(SHORTEST_MS, sorted[Math.floor(QUANTILE * sorted.length)] ?? 0);
  }

  /** Resolves with `true` when a request has taken long enough for a hedge, with `false` when it has ended. */
  async isOverdue(operation: string, ended: Promise<unknown>): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, this.#timesOf(operation).hedgeAfterMs, true);
    const onEnd = () => resolve(false);
    ended.then(onEnd, onEnd);
    const isOverdue = await promise;
    clearTimeout(timer);
    return isOverdue;
  }

  #timesOf(operation: string): AnswerTimes {
    return inMap(this.#times, operation, () => ({ last: [], count: 0, hedgeAfterMs: this.#unknownMs }));
  }
}
