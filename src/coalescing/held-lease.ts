import type { RedisScripting } from '../redis/connect.ts';
import { FAIL, RELEASE, RENEW, SETTLE } from './lease-scripts.ts';

/** The right to load a key for all instances. To be ended exactly once, in one of three ways. */
export interface Lease {
  /** Milliseconds until the load under it has to have ended, above 0: the lease is renewed until then and no longer. */
  readonly remainingMs: number;
  /** The first way: Redis holds the answer. All who wait look at it. */
  settle(): void;
  /** The second: the indexer failed, and that is the answer to all who wait. */
  fail(failure: string): void;
  /** The third: nothing came of it that would be true elsewhere. Exactly one of those who wait takes over. */
  release(): void;
}

export interface HeldLeaseDependencies {
  readonly redis: RedisScripting;
  /** The lease has been ended here: it is to be forgotten. */
  readonly onEnd: (lease: Lease) => void;
  /** Sends the end of the lease to Redis, again if need be until `expiresAt` (monotonic ms). */
  readonly deliver: (send: () => Promise<unknown>, expiresAt: number) => void;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface HeldLeaseOptions {
  /** How long a lease lasts without being renewed: what a killed holder costs the others. */
  readonly leaseMs: number;
  /** A load that ends within it costs no renewal; well below `leaseMs`, so that one renewal may be lost. */
  readonly renewEveryMs: number;
  /** The age of a load from which its lease is renewed no more: a holder that is stuck does not keep it for ever. */
  readonly longestMs: number;
  /** How long a failure is the answer to all. */
  readonly failureTtlMs: number;
}

/** Which lease it is. */
export interface LeaseIdentity {
  /** The entry's key. */
  readonly redisKey: string;
  /** What tells this holder from every other one. */
  readonly token: string;
  /** When the lease was asked for, monotonic milliseconds. */
  readonly acquiredAt: number;
}

/** What a wake is published on: this, and the name of an instance. */
export const CHANNEL_PREFIX = 'toncache:wake:';

/** How long before the last end of its lease a load has to be done, so that the answer can be stored under it. */
const MARGIN_MS = 250;

/** The keys of a lease and of those who wait for it, in the slot of the entry. */
export function leaseKeys(redisKey: string): [lease: string, waiters: string] {
  return [`${redisKey}:lease`, `${redisKey}:waiters`];
}

/**
 * A lease in the hands of this process, renewed until it is ended. When a renewal finds that it is not ours any more,
 * renewals stop and the load goes on: the rule of precedence decides between its answer and that of the new holder.
 */
export class HeldLease implements Lease {
  readonly #dependencies: HeldLeaseDependencies;
  readonly #options: HeldLeaseOptions;
  readonly #identity: LeaseIdentity;
  readonly #renewals: NodeJS.Timeout;
  #expiresAt: number;

  constructor(dependencies: HeldLeaseDependencies, options: HeldLeaseOptions, identity: LeaseIdentity) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#identity = identity;
    this.#expiresAt = identity.acquiredAt + options.leaseMs;
    this.#renewals = setInterval(() => void this.#renew(), options.renewEveryMs).unref();
  }

  get remainingMs(): number {
    return Math.max(1, Math.floor(this.#options.longestMs - MARGIN_MS - this.#ageMs));
  }

  settle(): void {
    this.#stop();
    this.#deliver(SETTLE);
  }

  fail(failure: string): void {
    this.#stop();
    this.#deliver(FAIL, failure, this.#options.failureTtlMs);
  }

  release(): void {
    this.#stop();
    this.#deliver(RELEASE);
  }

  get #ageMs(): number {
    return this.#dependencies.now() - this.#identity.acquiredAt;
  }

  async #renew(): Promise<void> {
    const { redis, now } = this.#dependencies;
    const { leaseMs, longestMs } = this.#options;
    const { redisKey, token } = this.#identity;
    const [renewedAt, ageMs] = [now(), Math.floor(this.#ageMs)];
    const extensionMs = Math.min(leaseMs, longestMs - ageMs);
    if (extensionMs <= 0) {
      clearInterval(this.#renewals);
      return;
    }
    try {
      const isOurs = await redis.runScript(RENEW, leaseKeys(redisKey).slice(0, 1), [token, ageMs, extensionMs]);
      if (isOurs === 1) this.#expiresAt = renewedAt + extensionMs;
      else clearInterval(this.#renewals);
    } catch {
      // Lost with its connection, or refused. The next renewal comes before the lease expires.
    }
  }

  #stop(): void {
    clearInterval(this.#renewals);
    this.#dependencies.onEnd(this);
  }

  #deliver(script: string, ...more: readonly (string | number)[]): void {
    const { redisKey, token } = this.#identity;
    const args = [token, CHANNEL_PREFIX, redisKey, ...more];
    const send = () => this.#dependencies.redis.runScript(script, leaseKeys(redisKey), args);
    this.#dependencies.deliver(send, this.#expiresAt);
  }
}
