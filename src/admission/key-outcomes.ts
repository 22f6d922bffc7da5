export interface KeyOutcomesDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface KeyOutcomesOptions {
  /** An outcome counts for half of this time at least, and for all of it at most, in milliseconds. */
  readonly windowMs: number;
}

/** The most keys of half a window: enough to decide by. */
const MOST_KEYS = 1000;

/** Whether the last request for each key failed. */
class Half {
  readonly failed = new Map<string, boolean>();
  failures = 0;

  set(key: string, failed: boolean): void {
    this.delete(key);
    this.failed.set(key, failed);
    if (failed) this.failures++;
  }

  delete(key: string): void {
    if (this.failed.get(key) === true) this.failures--;
    this.failed.delete(key);
  }
}

/**
 * The last outcome of each key: one broken key counts once, however often it is asked for. Two maps take turns: the older
 * one is dropped when the newer one has collected for half of the window, or is full.
 */
export class KeyOutcomes {
  readonly #now: () => number;
  readonly #halfMs: number;
  #older = new Half();
  #newer = new Half();
  #turnAt = Number.NEGATIVE_INFINITY;

  constructor({ now }: KeyOutcomesDependencies, { windowMs }: KeyOutcomesOptions) {
    this.#now = now;
    this.#halfMs = windowMs / 2;
  }

  /** The number of keys with an outcome, and of those whose last one was a failure. */
  get counts(): { readonly keys: number; readonly failures: number } {
    this.#turn();
    return {
      keys: this.#older.failed.size + this.#newer.failed.size,
      failures: this.#older.failures + this.#newer.failures,
    };
  }

  add(key: string, failed: boolean): void {
    this.#turn();
    this.#older.delete(key);
    this.#newer.set(key, failed);
  }

  hasFailed(key: string): boolean {
    this.#turn();
    return this.#newer.failed.get(key) ?? this.#older.failed.get(key) ?? false;
  }

  clear(): void {
    this.#older = new Half();
    this.#newer = new Half();
  }

  #turn(): void {
    const now = this.#now();
    if (now < this.#turnAt && this.#newer.failed.size < MOST_KEYS) return;
    // After a whole window without a turn, both are too old.
    this.#older = now < this.#turnAt + this.#halfMs ? this.#newer : new Half();
    this.#newer = new Half();
    this.#turnAt = now + this.#halfMs;
  }
}
