import { LRUCache } from 'lru-cache';
import type { PollCount } from '../answer/block-proof.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** The maximum number of polled keys. Above it, the least recently polled keys are forgotten, and count as new. */
const MOST_KEYS = 100_000;

export interface ProofDemandDependencies {
  readonly now: () => MonotonicMs;
  /** The ordinary lifetime of an answer: within it, no proof is needed. */
  readonly liveMs: Ms;
  /** The shortest time for which answers are proven. */
  readonly boundMs: Ms;
}

/** The state of a polled key. */
interface Polled {
  readonly etag: string;
  /** When this answer was first served. A proof would have kept it for `boundMs`. */
  readonly since: MonotonicMs;
  /** When it was last served after its lifetime, as a proof would have done. */
  readonly servedAt: MonotonicMs;
}

/**
 * Counts the polls that a proof answers or would have answered: those for an answer that has not changed since it was
 * first served, within its bound. It counts answers to clients and not loads, so the count is the same whether blocks
 * are followed or not.
 */
export class ProofDemand implements Pick<PollCount, 'answered'> {
  readonly #dependencies: ProofDemandDependencies;
  readonly #polled = new LRUCache<string, Polled>({ maxSize: MOST_KEYS, sizeCalculation: () => 1 });
  #polls = 0;
  #pollsOfOwners = 0;

  constructor(dependencies: ProofDemandDependencies) {
    this.#dependencies = dependencies;
  }

  answered(key: string, etag: string, ofOwner: boolean): void {
    const { now, liveMs, boundMs } = this.#dependencies;
    const at = now();
    const known = this.#polled.get(key);
    if (known?.etag !== etag || at - known.since >= boundMs) this.#polled.set(key, { etag, since: at, servedAt: at });
    else if (at - known.servedAt >= liveMs) {
      this.#polls++;
      if (ofOwner) this.#pollsOfOwners++;
      this.#polled.set(key, { ...known, servedAt: at });
    }
  }

  /** The number of polls since the last call that need look-ups of owners. {@link take} counts them, too. */
  takeOfOwners(): number {
    const polls = this.#pollsOfOwners;
    this.#pollsOfOwners = 0;
    return polls;
  }

  /** The number of polls since the last call. */
  take(): number {
    const polls = this.#polls;
    this.#polls = 0;
    return polls;
  }
}
