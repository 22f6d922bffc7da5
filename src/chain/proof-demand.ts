import { LRUCache } from 'lru-cache';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** Keys that clients poll. Beyond this many, those polled least recently are forgotten, and count as new. */
const MOST_KEYS = 100_000;

export interface ProofDemandDependencies {
  readonly now: () => MonotonicMs;
  /** The ordinary lifetime of an answer: within it, no proof is needed. */
  readonly liveMs: Ms;
  /** The shortest time for which answers are proven. */
  readonly boundMs: Ms;
}

/** What is known of a key that is polled. */
interface Polled {
  readonly etag: string;
  /** When this answer was first served. A proof would have kept it for `boundMs`. */
  readonly since: MonotonicMs;
  /** When it was last served beyond its lifetime, as a proof would have. */
  readonly servedAt: MonotonicMs;
}

/**
 * Counts the polls that a proof answers or would have answered: of an answer that has not changed since it was first served,
 * within its bound. It counts what clients are answered, not what is loaded, so it counts the same whether or not blocks are
 * followed.
 */
export class ProofDemand {
  readonly #dependencies: ProofDemandDependencies;
  readonly #polled = new LRUCache<string, Polled>({ maxSize: MOST_KEYS, sizeCalculation: () => 1 });
  #polls = 0;

  constructor(dependencies: ProofDemandDependencies) {
    this.#dependencies = dependencies;
  }

  /** Call with each answer that blocks can prove when it is sent to a client. */
  answered(key: string, etag: string): void {
    const { now, liveMs, boundMs } = this.#dependencies;
    const at = now();
    const known = this.#polled.get(key);
    if (known?.etag !== etag || at - known.since >= boundMs) this.#polled.set(key, { etag, since: at, servedAt: at });
    else if (at - known.servedAt >= liveMs) {
      this.#polls++;
      this.#polled.set(key, { ...known, servedAt: at });
    }
  }

  /** How many polls were counted since this was called last. */
  take(): number {
    const polls = this.#polls;
    this.#polls = 0;
    return polls;
  }
}
