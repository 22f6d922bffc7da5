import type { RedisScripting } from '../redis/connect.ts';
import { FAIL, RELEASE, RENEW, SETTLE } from './lease-scripts.ts';

/** The right to load a key for all instances. Must be ended exactly once: settled, failed or released. */
export interface Lease {
  /** Milliseconds, above 0, in which the load has to end: soon after, the lease is no longer renewed. */
  readonly remainingMs: number;
  /**
   * The holder asks the indexer again: the load has all its time once more, and other instances may join it as a new
   * one. They learn of it by the next renewal.
   */
  restart(): void;
  /** Redis holds the answer: wakes all waiters, which read it. */
  settle(): void;
  /** The indexer failed: gives this failure to all waiters. */
  fail(failure: string): void;
  /** The load ended for a reason that concerns this process alone (shed, shutdown): exactly one waiter takes over. */
  release(): void;
}

export interface HeldLeaseDependencies {
  readonly redis: RedisScripting;
  /** Called when this process has ended the lease. */
  readonly onEnd: (lease: Lease) => void;
  /** Sends the end of the lease to Redis, and repeats that until it succeeds or `expiresAt` (monotonic ms). */
  readonly deliver: (send: () => Promise<unknown>, expiresAt: number) => void;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface HeldLeaseOptions {
  /** How long a lease lasts without renewal, in milliseconds: waiters lose this much when the holder is killed. */
  readonly leaseMs: number;
  /**
   * In milliseconds. Most loads should end before the first renewal; well below `leaseMs`, so that one renewal may be
   * lost.
   */
  readonly renewEveryMs: number;
  /**
   * The age of a load, in milliseconds, from which its lease is no longer renewed: a stuck holder must not keep it for
   * ever.
   */
  readonly longestMs: number;
  /** How long a failure of the indexer answers the key for all instances, in milliseconds. */
  readonly failureTtlMs: number;
}

/** What identifies a lease. */
export interface LeaseIdentity {
  /** The entry's key. */
  readonly redisKey: string;
  /** Unique to this holder. */
  readonly token: string;
  /** When the lease was asked for, monotonic milliseconds. */
  readonly acquiredAt: number;
}

/** The channel of an instance is this prefix and the instance's name. */
export const CHANNEL_PREFIX = 'toncache:wake:';

/** A load has to end this long before its lease can no longer be renewed, so that the answer is stored in time. */
const MARGIN_MS = 250;

/** The Redis keys of a lease and of its set of waiters, in the slot of the entry. */
export function leaseKeys(redisKey: string): [lease: string, waiters: string] {
  return [`${redisKey}:lease`, `${redisKey}:waiters`];
}

/**
 * A lease that this process holds, renewed until it is ended. When a renewal finds that the lease is no longer ours,
 * renewals stop and the load continues: `cache/precedence.ts` decides between its answer and that of the new holder.
 */
export class HeldLease implements Lease {
  readonly #dependencies: HeldLeaseDependencies;
  readonly #options: HeldLeaseOptions;
  readonly #identity: LeaseIdentity;
  readonly #renewals: NodeJS.Timeout;
  /** When the load began that the lease is for, monotonic milliseconds. */
  #beganAt: number;
  #expiresAt: number;

  constructor(dependencies: HeldLeaseDependencies, options: HeldLeaseOptions, identity: LeaseIdentity) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#identity = identity;
    this.#beganAt = identity.acquiredAt;
    this.#expiresAt = identity.acquiredAt + options.leaseMs;
    this.#renewals = setInterval(() => void this.#renew(), options.renewEveryMs).unref();
  }

  get remainingMs(): number {
    return Math.max(1, Math.floor(this.#options.longestMs - MARGIN_MS - this.#ageMs));
  }

  restart(): void {
    this.#beganAt = this.#dependencies.now();
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
    return this.#dependencies.now() - this.#beganAt;
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
      // The renewal was lost or refused. The next one comes before the lease expires.
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
