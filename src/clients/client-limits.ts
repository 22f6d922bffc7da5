import { LRUCache } from 'lru-cache';
import { ProxyError } from '../errors.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

export interface ClientLimitsDependencies {
  readonly now: () => MonotonicMs;
  /** Of all requests; no limit when it is absent. */
  readonly requestsPerSecond?: number | undefined;
  /** The most requests at once; those of a second when it is absent. */
  readonly burst?: number | undefined;
  /** Of the requests that the indexer is asked for; no limit when it is absent. */
  readonly missesPerSecond?: number | undefined;
}

/** The part of a {@link ClientLimits} that counts what the indexer is asked for. */
export type MissLimit = Pick<ClientLimits, 'takeMiss' | 'giveBackMiss'>;

/**
 * How much each client may ask of this instance. What goes beyond is refused with the time after which it would be
 * allowed.
 */
export class ClientLimits {
  readonly #requests: Limit | undefined;
  readonly #misses: Limit | undefined;

  constructor({ now, requestsPerSecond, burst = requestsPerSecond, missesPerSecond }: ClientLimitsDependencies) {
    this.#requests = requestsPerSecond && burst ? new Limit('requests', requestsPerSecond, burst, now) : undefined;
    this.#misses = missesPerSecond ? new Limit('misses', missesPerSecond, missesPerSecond, now) : undefined;
  }

  /** Counts a request, or says why it is refused. */
  takeRequest(client: string): ProxyError | undefined {
    return this.#requests?.take(client);
  }

  /** Counts a request that the indexer is to be asked for, or says why it is refused. */
  takeMiss(client: string): ProxyError | undefined {
    return this.#misses?.take(client);
  }

  /** The indexer was not asked after all. */
  giveBackMiss(client: string): void {
    this.#misses?.giveBack(client);
  }
}

/**
 * So many clients are remembered. One that is forgotten begins anew with its whole burst: it is either long gone, or
 * one of an attacker who has more addresses than this, whom no limit by address can hold.
 */
const MOST_CLIENTS = 50_000;

/**
 * A token bucket for each client, kept as the instant at which it is full again (the generic cell rate algorithm of
 * ITU-T I.371).
 */
class Limit {
  readonly #name: string;
  readonly #burst: number;
  readonly #everyMs: Ms;
  readonly #now: () => MonotonicMs;
  readonly #fullAt = new LRUCache<string, number>({ max: MOST_CLIENTS });

  constructor(name: string, perSecond: number, burst: number, now: () => MonotonicMs) {
    this.#name = name;
    this.#burst = burst;
    this.#everyMs = 1000 / perSecond;
    this.#now = now;
  }

  take(client: string): ProxyError | undefined {
    const now = this.#now();
    const fullAt = Math.max(now, this.#fullAt.get(client) ?? 0) + this.#everyMs;
    const waitMs = fullAt - now - this.#burst * this.#everyMs;
    // Half of a millionth: sums of fractions must not refuse the last request of a burst.
    if (waitMs < 0.0005) this.#fullAt.set(client, fullAt);
    return waitMs < 0.0005 ? undefined : this.#refusal(waitMs);
  }

  giveBack(client: string): void {
    const fullAt = this.#fullAt.get(client);
    if (fullAt !== undefined) this.#fullAt.set(client, fullAt - this.#everyMs);
  }

  #refusal(waitMs: Ms): ProxyError {
    const name = this.#name;
    const retryAfterSeconds = Math.ceil(waitMs / 1000);
    const perSecond = Math.round(1000 / this.#everyMs);
    const windowSeconds = Math.ceil((this.#burst * this.#everyMs) / 1000);
    return new ProxyError('too-many-requests', `too many ${name} of one client: ${perSecond} a second are answered`, {
      retryAfterSeconds,
      rateLimit: {
        policy: `"${name}";q=${this.#burst};w=${windowSeconds}`,
        state: `"${name}";r=0;t=${retryAfterSeconds}`,
      },
    });
  }
}
