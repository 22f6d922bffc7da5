import { LRUCache } from 'lru-cache';
import { failure, type ProxyError } from '../errors.ts';
import { FAILURES } from '../failures/codes.ts';
import { retryAfterSeconds } from '../failures/retry-after.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

export interface PerClientLimitDependencies {
  /** What the limit counts: `requests` or `misses`. */
  readonly name: string;
  readonly perSecond: number;
  readonly now: () => MonotonicMs;
}

/**
 * The maximum number of remembered clients. A forgotten client has its whole burst again: it either left long ago, or
 * belongs to an attacker with more addresses than this, whom no limit by address can hold.
 */
const MOST_CLIENTS = 50_000;

/** A client may send the requests of this time at once: a page opens with 8 to 12, and an office shares one address. */
const BURST_MS: Ms = 10_000;

/**
 * Limits the requests of each client to this instance: a token bucket for each, stored as the instant at which it is
 * full again (the generic cell rate algorithm of ITU-T I.371).
 */
export class PerClientLimit {
  readonly #dependencies: PerClientLimitDependencies;
  readonly #everyMs: Ms;
  readonly #fullAt = new LRUCache<string, number>({ max: MOST_CLIENTS });

  constructor(dependencies: PerClientLimitDependencies) {
    this.#dependencies = dependencies;
    this.#everyMs = 1000 / dependencies.perSecond;
  }

  /** Counts one request, or returns its refusal with the time after which it would be allowed. */
  take(client: string): ProxyError | undefined {
    const now = this.#dependencies.now();
    const fullAt = Math.max(now, this.#fullAt.get(client) ?? 0) + this.#everyMs;
    const waitMs = fullAt - now - BURST_MS;
    // Half a microsecond is granted: `fullAt` is a sum, and its rounding must not refuse the last request of a burst.
    if (waitMs < 0.0005) {
      this.#fullAt.set(client, fullAt);
      return undefined;
    }
    return this.#refusal(waitMs);
  }

  /** A counted request needed nothing after all. */
  giveBack(client: string): void {
    const fullAt = this.#fullAt.get(client);
    if (fullAt !== undefined) this.#fullAt.set(client, fullAt - this.#everyMs);
  }

  #refusal(waitMs: Ms): ProxyError {
    const { name, perSecond } = this.#dependencies;
    const burst = (perSecond * BURST_MS) / 1000;
    return failure('too-many-requests', {
      values: { what: name, perSecond, burst },
      waitMs,
      rateLimit: {
        policy: `"${name}";q=${burst};w=${BURST_MS / 1000}`,
        state: `"${name}";r=0;t=${retryAfterSeconds(FAILURES['too-many-requests'].retryAfter, waitMs, 0)}`,
      },
    });
  }
}
