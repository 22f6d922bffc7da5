import type { MonotonicMs } from '../time-units.ts';

const MINUTE_MS = 60_000;

/** Lets each topic pass once a minute, and at most `most` of them. */
export class OnceAMinute {
  readonly #now: () => MonotonicMs;
  readonly #most: number;
  /** By topic, when it last passed: the oldest first. */
  readonly #passedAt = new Map<string, MonotonicMs>();

  constructor(now: () => MonotonicMs, most = Number.POSITIVE_INFINITY) {
    this.#now = now;
    this.#most = most;
  }

  /** True if the topic may pass now; then it has passed. */
  isDue(topic: string): boolean {
    const now = this.#now();
    for (const [known, at] of this.#passedAt) {
      if (now - at < MINUTE_MS) break;
      this.#passedAt.delete(known);
    }
    if (this.#passedAt.has(topic) || this.#passedAt.size >= this.#most) return false;
    this.#passedAt.set(topic, now);
    return true;
  }
}
