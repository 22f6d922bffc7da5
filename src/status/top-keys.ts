import type { Call } from '../ton/parse-call.ts';

/** How often a key was asked for, as far as the sample tells. */
export interface TopKey {
  readonly call: Call;
  readonly key: string;
  /** Of all requests, 0 to 1. */
  readonly share: number;
}

/** Keys that are counted at once: about four times those that are shown. */
const MAX_KEYS = 64;

/** One request in so many is counted, at random: a client that asks in turns of 16 is no special case. */
const MEAN_GAP = 16;

/** After so long all counts are halved: what counts is what is asked for now. */
const HALF_LIFE_MS = 30_000;

/**
 * The keys that are asked for most, within a bound on memory and at next to no cost for a request: all but one in 16 only
 * decrement a number. The others are counted by the space-saving algorithm (Metwally, Agrawal, El Abbadi 2005): a key that
 * is not counted yet takes the place, and the count, of the least one.
 */
export class TopKeys {
  readonly #random: () => number;
  readonly #monotonic: () => number;
  readonly #counts = new Map<string, { count: number; readonly call: Call }>();
  #total = 0;
  #toSkip = 0;
  #halvedAt: number;

  /** Random: 0 to 1. Monotonic: milliseconds. */
  constructor(random: () => number, monotonic: () => number) {
    this.#random = random;
    this.#monotonic = monotonic;
    this.#halvedAt = monotonic();
  }

  /** Counts a request, or not. */
  readonly onAsked = (call: Call, key: string): void => {
    if (this.#toSkip-- > 0) return;
    this.#toSkip = Math.floor(this.#random() * (2 * MEAN_GAP - 1));
    this.#halve();
    this.#total++;
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { count: this.#makeRoom() + 1, call });
    else counted.count++;
  };

  /** The first so many, the most asked for first. */
  top(most: number): TopKey[] {
    this.#halve();
    const sorted = [...this.#counts].sort(([, a], [, b]) => b.count - a.count).slice(0, most);
    return sorted.map(([key, { count, call }]) => ({ call, key, share: count / this.#total }));
  }

  /** The count that a new key begins with. */
  #makeRoom(): number {
    if (this.#counts.size < MAX_KEYS) return 0;
    let least: readonly [string, number] = ['', Number.POSITIVE_INFINITY];
    for (const [key, { count }] of this.#counts) if (count < least[1]) least = [key, count];
    this.#counts.delete(least[0]);
    return least[1];
  }

  #halve(): void {
    const times = Math.floor((this.#monotonic() - this.#halvedAt) / HALF_LIFE_MS);
    if (times < 1) return;
    this.#halvedAt += times * HALF_LIFE_MS;
    this.#total /= 2 ** times;
    for (const [key, counted] of this.#counts) {
      counted.count /= 2 ** times;
      if (counted.count < 0.5) this.#counts.delete(key);
    }
  }
}
