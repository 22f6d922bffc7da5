import type { MonotonicMs, Ms } from '../time-units.ts';

/** The maximum number of remembered keys; above it the oldest 429 is forgotten. Paths may have 16 KiB. */
const MOST_KEYS = 256;

interface PausedKey {
  /** No request for the key is sent until then. */
  readonly until: MonotonicMs;
  readonly isCached: boolean;
  /** The number of 429s before this one. */
  readonly place: number;
}

/**
 * The keys that got a 429 from one indexer. A key is the cache key of a call, or method and path of a passed-through
 * request. It is paused for its `Retry-After`.
 */
export class PausedKeys {
  readonly #now: () => MonotonicMs;
  /** In the order of their last 429. */
  readonly #keys = new Map<string, PausedKey>();
  #refusals = 0;

  constructor(now: () => MonotonicMs) {
    this.#now = now;
  }

  /** The number of 429s so far. */
  get refusals(): number {
    return this.#refusals;
  }

  /** True if a key got a 429 and is not forgotten, even if its time is over. */
  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** The remaining pause of a key; 0 if it is not paused. */
  remainingMs(key: string): Ms {
    return Math.max(0, (this.#keys.get(key)?.until ?? 0) - this.#now());
  }

  /** Pauses a key for this time; a longer pause stays. */
  add(key: string, isCached: boolean, ms: Ms): void {
    const until = this.#now() + Math.max(ms, this.remainingMs(key));
    this.#keys.delete(key);
    this.#keys.set(key, { until, isCached, place: this.#refusals++ });
    const [oldest] = this.#keys.keys();
    if (this.#keys.size > MOST_KEYS && oldest !== undefined) this.#keys.delete(oldest);
  }

  /**
   * True if the remembered 429s show a limit of all requests: they came to two keys, and one of the two belongs to a
   * cached operation.
   */
  get showLimit(): boolean {
    return this.#keys.size > 1 && [...this.#keys.values()].some(({ isCached }) => isCached);
  }

  /** The longest remaining pause among the 429s that came after the first `refusals` ones. */
  longestMs(refusals: number): Ms {
    const since = [...this.#keys.values()].filter(({ place }) => place >= refusals);
    return Math.max(0, ...since.map(({ until }) => until - this.#now()));
  }

  /** Forgets the keys whose time is over. */
  forgetEnded(): void {
    for (const [key, { until }] of this.#keys) if (until <= this.#now()) this.#keys.delete(key);
  }
}
