import { LRUCache } from 'lru-cache';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Polls } from './follower-switch.ts';

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

const NONE: Polls = { wanted: 0, proven: 0 };

/**
 * Counts the polls that a proof answers or would have answered: those for an answer that has not changed since it was
 * first served, within its bound. It counts answers to clients and refusals, and not loads, so the count is the same
 * whether blocks are followed or not, and whatever the rate of requests is.
 */
export class ProofDemand {
  readonly #dependencies: ProofDemandDependencies;
  readonly #polled = new LRUCache<string, Polled>({ maxSize: MOST_KEYS, sizeCalculation: () => 1 });
  #polls = NONE;
  #pollsOfOwners = NONE;

  constructor(dependencies: ProofDemandDependencies) {
    this.#dependencies = dependencies;
  }

  /** Call with each answer that blocks can prove. `ofOwner`: it needs look-ups of owners. */
  answered(key: string, etag: string, ofOwner: boolean, isProven: boolean): void {
    const at = this.#dependencies.now();
    if (this.#current(key, at)?.etag === etag) this.#count(key, at, ofOwner, isProven);
    else this.#polled.set(key, { etag, since: at, servedAt: at });
  }

  /** Counts only for a key that was answered within its bound: a flood of new accounts is no demand. */
  refused(key: string, ofOwner: boolean): void {
    this.#count(key, this.#dependencies.now(), ofOwner, false);
  }

  /** The answer of a key that a proof would still keep. */
  #current(key: string, at: MonotonicMs): Polled | undefined {
    const known = this.#polled.get(key);
    return known !== undefined && at - known.since < this.#dependencies.boundMs ? known : undefined;
  }

  #count(key: string, at: MonotonicMs, ofOwner: boolean, isProven: boolean): void {
    const known = this.#current(key, at);
    if (known === undefined || at - known.servedAt < this.#dependencies.liveMs) return;
    this.#polled.set(key, { ...known, servedAt: at });
    this.#polls = oneMore(this.#polls, isProven);
    if (ofOwner) this.#pollsOfOwners = oneMore(this.#pollsOfOwners, isProven);
  }

  /** The polls since the last call that need look-ups of owners. {@link take} counts them, too. */
  takeOfOwners(): Polls {
    const polls = this.#pollsOfOwners;
    this.#pollsOfOwners = NONE;
    return polls;
  }

  /** The polls since the last call. */
  take(): Polls {
    const polls = this.#polls;
    this.#polls = NONE;
    return polls;
  }
}

function oneMore({ wanted, proven }: Polls, isProven: boolean): Polls {
  return { wanted: wanted + 1, proven: proven + Number(isProven) };
}
