import type { MonotonicMs, Ms } from '../time-units.ts';
import { ABANDONED, type Refusal } from './guard.ts';

/** A turn reserved for one request, `waitMs` away; or `too-long` when the next free one is further away than allowed. */
export type Reserved = { readonly state: 'reserved' | 'too-long'; readonly waitMs: Ms };

export interface RateLimitDependencies {
  /**
   * Reserves the next free turn among all instances that share the rate, if it is at most `longestWaitMs` away. When
   * that is not possible (`undefined`), this instance keeps to the whole rate by itself. Never rejects.
   */
  readonly reserveShared?: ((stepMs: Ms, longestWaitMs: Ms) => Promise<Reserved | undefined>) | undefined;
  readonly now: () => MonotonicMs;
  /** Requests a second, a whole number from 1 up. */
  readonly perSecond: number;
}

/**
 * Limits requests to a rate, in even steps, first come, first served (GCRA, the generic cell rate algorithm, without
 * bursts):
 *
 *   turn = max(now, next free); next free = turn + 1000 / perSecond
 *
 * The turn of a request that leaves, or is refused after the wait for it, is lost.
 */
export class RateLimit {
  readonly #dependencies: RateLimitDependencies;
  readonly #stepMs: Ms;
  #nextFreeAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: RateLimitDependencies) {
    this.#dependencies = dependencies;
    this.#stepMs = 1000 / dependencies.perSecond;
  }

  /** How long a request would wait with `ahead` others before it that have no turn yet, as far as is known. */
  expectedWaitMs(ahead: number): Ms {
    return Math.max(0, this.#nextFreeAt - this.#dependencies.now()) + ahead * this.#stepMs;
  }

  /** Waits for a turn, if it is at most `longestWaitMs` away, until `signal` is aborted. Never rejects. */
  async take(signal: AbortSignal, longestWaitMs: Ms): Promise<'go' | Refusal> {
    if (signal.aborted) return ABANDONED;
    const { state, waitMs } = await this.#reserve(longestWaitMs);
    if (state === 'too-long') return { reason: 'rate-limit', retryAfterMs: waitMs };
    if (waitMs > 0) await passed(Math.ceil(waitMs), signal);
    return signal.aborted ? ABANDONED : 'go';
  }

  async #reserve(longestWaitMs: Ms): Promise<Reserved> {
    const shared = await this.#dependencies.reserveShared?.(this.#stepMs, longestWaitMs);
    const now = this.#dependencies.now();
    const waitMs = shared?.waitMs ?? Math.max(0, this.#nextFreeAt - now);
    const state = shared?.state ?? (waitMs > longestWaitMs ? 'too-long' : 'reserved');
    this.#nextFreeAt = now + waitMs + (state === 'reserved' ? this.#stepMs : 0);
    return { state, waitMs };
  }
}

/** Resolves after this time, or when the signal is aborted. */
function passed(ms: Ms, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
