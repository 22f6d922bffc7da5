/** A key that is asked for twice within this time is polled, in milliseconds. */
export const POLLED_WITHIN_MS = 2000;

/** The most keys that are remembered: those of 2 s at 5000 new ones a second. */
const MOST_KEYS = 10_000;

/** Finds the keys that clients poll. Bounded: the keys that were asked for longest ago are forgotten first. */
export class PolledKeys {
  /** When each was asked for, the oldest first. Monotonic milliseconds. */
  readonly #askedAt = new Map<string, number>();

  /** Takes a request for a key at `now` (monotonic ms); whether it is the second one within 2 s. */
  ask(key: string, now: number): boolean {
    const before = this.#askedAt.get(key);
    this.#askedAt.delete(key);
    if (before !== undefined && now - before <= POLLED_WITHIN_MS) return true;
    this.#askedAt.set(key, now);
    for (const oldest of this.#askedAt.keys()) {
      if (this.#askedAt.size <= MOST_KEYS) break;
      this.#askedAt.delete(oldest);
    }
    return false;
  }

  clear(): void {
    this.#askedAt.clear();
  }
}
