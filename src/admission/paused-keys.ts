import type { MonotonicMs, Ms } from '../time-units.ts';

/** The most keys that are remembered; then the one that was refused longest ago is forgotten. Paths may have 16 KiB. */
const MOST_KEYS = 256;

/** The last 429 to a key. */
interface PausedKey {
  /** The key is not asked for until then. */
  readonly until: MonotonicMs;
  /** Whether it belongs to a cached operation. */
  readonly isCached: boolean;
  /** How many refusals there had been before it. */
  readonly place: number;
}

/**
 * The keys that an indexer has answered with 429. A key is the cache key of a call, or method and path of what is passed
 * through. It is paused until the time that was asked for is over.
 */
export class PausedKeys {
  readonly #now: () => MonotonicMs;
  /** The one that was refused last is the last. */
  readonly #keys = new Map<string, PausedKey>();
  #refusals = 0;

  constructor(now: () => MonotonicMs) {
    this.#now = now;
  }

  /** How many refusals there were so far. */
  get refusals(): number {
    return this.#refusals;
  }

  /** Whether a key was refused and is not forgotten, though its time may be over. */
  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** How long a key is paused from now on; 0 if it is not. */
  remainingMs(key: string): Ms {
    return Math.max(0, (this.#keys.get(key)?.until ?? 0) - this.#now());
  }

  /** Pauses a key for this time; one that is paused for longer stays so. */
  add(key: string, isCached: boolean, ms: Ms): void {
    const until = this.#now() + Math.max(ms, this.remainingMs(key));
    this.#keys.delete(key);
    this.#keys.set(key, { until, isCached, place: this.#refusals++ });
    const [oldest] = this.#keys.keys();
    if (this.#keys.size > MOST_KEYS && oldest !== undefined) this.#keys.delete(oldest);
  }

  /**
   * Whether the refusals that are remembered show a limit of all requests: they came to two keys, and one of the two
   * belongs to a cached operation.
   */
  get showLimit(): boolean {
    return this.#keys.size > 1 && [...this.#keys.values()].some(({ isCached }) => isCached);
  }

  /** The longest remaining pause that was asked for since there were so many refusals. */
  longestMs(refusals: number): Ms {
    const since = [...this.#keys.values()].filter(({ place }) => place >= refusals);
    return Math.max(0, ...since.map(({ until }) => until - this.#now()));
  }

  /** Forgets the keys whose time is over. */
  forgetEnded(): void {
    for (const [key, { until }] of this.#keys) if (until <= this.#now()) this.#keys.delete(key);
  }
}
