import { hash } from 'node:crypto';

/** SHA-256 over the parts, in padded standard base64: the simulated chain makes all its hashes in this way. */
export function digest(...parts: readonly (string | number)[]): string {
  return hash('sha256', parts.join('/'), 'base64');
}

/** The same numbers for the same parts of a seed, on every machine. */
export class SeededRandom {
  #state: number;

  constructor(...parts: readonly (string | number)[]) {
    this.#state = hash('sha256', parts.join('/'), 'buffer').readUInt32LE(0);
  }

  /** From 0 up to, and without, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** True in this share (0..1) of all calls. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** One of a list; an empty list is a mistake of the caller and throws. */
  pick<T>(list: readonly T[]): T {
    const picked = list[this.int(0, list.length - 1)];
    if (picked === undefined) throw new RangeError('nothing to pick from');
    return picked;
  }
}
