import type { MonotonicMs } from '../../time-units.ts';

/** The frequency of a key, estimated from a sample. */
export interface TopKey {
  readonly key: string;
  /** Its share of all requests, 0 to 1. */
  readonly share: number;
}

/** The maximum number of keys that are counted: about four times those that are shown. */
const MAX_KEYS = 64;

/**
 * On average one request in this many is counted, at random, so that no regular pattern of requests is over- or
 * under-counted.
 */
const MEAN_GAP = 16;

/** The share of a key says little with fewer counted requests than this. */
const FEWEST_COUNTED = 20;

/** All counts are halved after each of these times, so that recent requests count most. */
const HALF_LIFE_MS = 30_000;

/**
 * Finds the most requested keys in bounded memory. It costs a request next to nothing: all but one in 16 only decrement
 * a number. The others are counted by the space-saving algorithm (Metwally, Agrawal, El Abbadi 2005): a new key takes
 * the place, and the count, of the key with the lowest count.
 */
export class TopKeys {
  readonly #random: () => number;
  readonly #monotonic: () => MonotonicMs;
  readonly #counts = new Map<string, number>();
  #total = 0;
  #toSkip = 0;
  #halvedAt: number;

  /** `random`: 0 to 1. */
  constructor(random: () => number, monotonic: () => MonotonicMs) {
    this.#random = random;
    this.#monotonic = monotonic;
    this.#halvedAt = monotonic();
  }

  /** Call with each request; counts one in 16. */
  readonly count = (key: string): void => {
    if (this.#toSkip-- > 0) return;
    this.#toSkip = Math.floor(this.#random() * (2 * MEAN_GAP - 1));
    this.#halve();
    this.#total++;
    this.#counts.set(key, (this.#counts.get(key) ?? this.#makeRoom()) + 1);
  };

  /** The most requested keys, at most `most`, the first one first. */
  top(most: number): TopKey[] {
    this.#halve();
    const sorted = [...this.#counts].sort(([, a], [, b]) => b - a).slice(0, most);
    return sorted.map(([key, count]) => ({ key, share: count / this.#total }));
  }

  /** The share of the most requested of several keys; 0 while too few requests were counted. */
  get mostShare(): number {
    const [first, second] = this.top(2);
    return first === undefined || second === undefined || this.#total < FEWEST_COUNTED ? 0 : first.share;
  }

  /** Makes room for a new key, and returns its initial count. */
  #makeRoom(): number {
    if (this.#counts.size < MAX_KEYS) return 0;
    let least: readonly [string, number] = ['', Number.POSITIVE_INFINITY];
    for (const [key, count] of this.#counts) if (count < least[1]) least = [key, count];
    this.#counts.delete(least[0]);
    return least[1];
  }

  #halve(): void {
    const times = Math.floor((this.#monotonic() - this.#halvedAt) / HALF_LIFE_MS);
    if (times < 1) return;
    this.#halvedAt += times * HALF_LIFE_MS;
    this.#total /= 2 ** times;
    for (const [key, count] of this.#counts) {
      if (count / 2 ** times < 0.5) this.#counts.delete(key);
      else this.#counts.set(key, count / 2 ** times);
    }
  }
}
