import type { FailureCount } from '../circuit-breaker.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

export interface FailedKeysDependencies {
  readonly now: () => MonotonicMs;
  /**
   * The breaker opens when at least `minimumThroughput` keys were requested within the window, and this part (0 to 1)
   * of them failed.
   */
  readonly failureRate: number;
  readonly minimumThroughput: number;
  /** A key counts for half of this time at least, and for all of it at most. */
  readonly windowMs: Ms;
}

/** The most keys of half a window: enough to decide by. */
const MOST_KEYS = 1000;

/**
 * Opens a breaker when too many keys fail. The last outcome of each key counts: one broken key counts once, however
 * often it is asked for. Two maps take turns: the older one is dropped when the newer one has collected for half of the
 * window, or is full.
 */
export class FailedKeys implements FailureCount {
  readonly #dependencies: FailedKeysDependencies;
  /** By key: whether its last request failed. */
  #older = new Map<string, boolean>();
  #newer = new Map<string, boolean>();
  #turnAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: FailedKeysDependencies) {
    this.#dependencies = dependencies;
  }

  add(key: string, failed: boolean): boolean {
    this.#turn();
    this.#older.delete(key);
    this.#newer.set(key, failed);
    if (!failed) return false;
    const outcomes = [...this.#older.values(), ...this.#newer.values()];
    const failures = outcomes.filter((each) => each).length;
    const { minimumThroughput, failureRate } = this.#dependencies;
    return outcomes.length >= minimumThroughput && failures >= failureRate * outcomes.length;
  }

  hasFailed(key: string): boolean {
    this.#turn();
    return this.#newer.get(key) ?? this.#older.get(key) ?? false;
  }

  clear(): void {
    this.#older.clear();
    this.#newer.clear();
  }

  #turn(): void {
    const now = this.#dependencies.now();
    if (now < this.#turnAt && this.#newer.size < MOST_KEYS) return;
    const halfMs = this.#dependencies.windowMs / 2;
    // After a whole window without a turn, both are too old.
    this.#older = now < this.#turnAt + halfMs ? this.#newer : new Map();
    this.#newer = new Map();
    this.#turnAt = now + halfMs;
  }
}
