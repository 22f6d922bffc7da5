import { Fifo } from './fifo.ts';

/**
 * A reserved slot in time for one request, `waitMs` away; or `too-long` when the next free one is further away than
 * allowed.
 */
export type Reserved = { readonly state: 'reserved' | 'too-long'; readonly waitMs: number };

export interface RateLimitDependencies {
  /**
   * Reserves the next free slot among all instances that share the rate, if it is at most `longestWaitMs` away. When
   * that is not possible (`undefined`), this instance keeps to the whole rate by itself. Never rejects.
   */
  readonly reserveShared?: ((stepMs: number, longestWaitMs: number) => Promise<Reserved | undefined>) | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface RateLimitOptions {
  /** Requests a second, a whole number from 1 up. */
  readonly perSecond: number;
}

/** How waiting for the rate ends: the request may be sent, its signal was aborted, or the wait would be too long. */
export type Taken = 'go' | 'abandoned' | { readonly waitMs: number };

/**
 * Limits requests to a rate, in even steps, first come, first served (GCRA, the generic cell rate algorithm, without
 * bursts):
 *
 *   slot = max(now, next free); next free = slot + 1000 / perSecond
 *
 * A slot is not bound to the request that reserved it: when it comes, the longest waiting request uses it. So a request
 * that leaves wastes no slot.
 */
export class RateLimit {
  readonly #dependencies: RateLimitDependencies;
  readonly #stepMs: number;
  readonly #waiting = new Fifo<(taken: Taken) => void>();
  #nextFreeAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: RateLimitDependencies, options: RateLimitOptions) {
    this.#dependencies = dependencies;
    this.#stepMs = 1000 / options.perSecond;
  }

  /**
   * How long a request would wait, in milliseconds, with `ahead` others before it that have no slot yet, as far as is
   * known.
   */
  expectedWaitMs(ahead: number): number {
    return Math.max(0, this.#nextFreeAt - this.#dependencies.now()) + ahead * this.#stepMs;
  }

  /** Waits for a slot, if it is at most `longestWaitMs` away, until `signal` is aborted. Never rejects. */
  take(signal: AbortSignal, longestWaitMs: number): Promise<Taken> {
    if (signal.aborted) return Promise.resolve('abandoned');
    return new Promise((resolve) => {
      let left: Taken | undefined;
      const leave = (taken: Taken) => {
        if (left !== undefined) return;
        left = taken;
        this.#waiting.remove(place);
        signal.removeEventListener('abort', onAbort);
        resolve(taken);
      };
      const onAbort = () => leave('abandoned');
      const place = this.#waiting.push(leave);
      signal.addEventListener('abort', onAbort, { once: true });
      void this.#reserve(longestWaitMs).then(({ state, waitMs }) => {
        if (state === 'reserved') this.#useAfter(waitMs);
        // This request has used another's slot, so the longest waiting one is refused in its place.
        else if (left === 'go') this.#waiting.first?.({ waitMs });
        else leave({ waitMs });
      });
    });
  }

  /** Gives a slot that was not used to the longest waiting request. */
  giveBack(): void {
    this.#waiting.first?.('go');
  }

  async #reserve(longestWaitMs: number): Promise<Reserved> {
    const shared = await this.#dependencies.reserveShared?.(this.#stepMs, longestWaitMs);
    if (shared === undefined) return this.#reserveAlone(longestWaitMs);
    const ownMs = shared.state === 'reserved' ? this.#stepMs : 0;
    this.#nextFreeAt = this.#dependencies.now() + shared.waitMs + ownMs;
    return shared;
  }

  #reserveAlone(longestWaitMs: number): Reserved {
    const now = this.#dependencies.now();
    const slotAt = Math.max(now, this.#nextFreeAt);
    const waitMs = slotAt - now;
    if (waitMs > longestWaitMs) return { state: 'too-long', waitMs };
    this.#nextFreeAt = slotAt + this.#stepMs;
    return { state: 'reserved', waitMs };
  }

  #useAfter(waitMs: number): void {
    if (waitMs <= 0) this.giveBack();
    else setTimeout(() => this.giveBack(), Math.ceil(waitMs));
  }
}
