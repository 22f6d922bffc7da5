// eslint-disable-next-line no-restricted-syntax -- a token only has to differ from those of all instances
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { END_LEASE, FAILED } from '../cache/redis-scripts.ts';
import type { Lookup, TieredCache, WritersLease } from '../cache/tiered-cache.ts';
import type { ConnectedRedis } from '../redis/connect.ts';
import { withinBudget } from '../redis/within-budget.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** The right to load a key for all instances. Ends once: by the write of its answer, by a failure, or by its release. */
export interface Lease extends WritersLease {
  /**
   * The load failed, perhaps for this instance only: instances that wait for it load immediately, without a lease.
   */
  fail(): void;
  /**
   * No request was sent (refused, shutdown): another instance takes the lease. Does nothing if the lease has ended, or a
   * write ends it.
   */
  release(): void;
}

/** How a wait for another instance's load ends. */
export type Landing =
  /** The lease is over. Its holder has stored an answer, has released the lease, or is dead: look again. */
  | { readonly state: 'over' }
  /** The holder's load has failed, Redis fails, or the lease does not end: load without it. */
  | { readonly state: 'unavailable' };

/** The result of an attempt to get the lease, and the cached entry at that time. */
export type Acquisition =
  /** Load the key, unless `found` is fresh: another instance has stored it since the last look. */
  | { readonly state: 'ours'; readonly lease: Lease; readonly found: Lookup }
  /** Another instance is loading the key, or has failed to. `landed` waits for it, until `signal` is aborted. */
  | { readonly state: 'taken'; readonly found: Lookup; readonly landed: (signal: AbortSignal) => Promise<Landing> }
  /** Redis fails: load without it. */
  | { readonly state: 'unavailable'; readonly found: Lookup };

export interface LeasesDependencies {
  readonly redis: Pick<ConnectedRedis, 'getBuffer' | 'runScript'>;
  readonly cache: Pick<TieredCache, 'acquire' | 'lookInMemory'>;
  /** The Redis key of a lease, by the key of its entry. */
  readonly leaseKey: (key: string) => string;
  readonly now: () => MonotonicMs;
  /**
   * The lease ends at this age of a load, which is then too old to be joined. Waiters lose this much when its holder is
   * killed.
   */
  readonly leaseMs: Ms;
  /** A poll that takes longer ends the wait. */
  readonly pollBudgetMs: Ms;
  /** See {@link FAILED_MS}. */
  readonly failedMs: Ms;
}

/** Milliseconds between polls of another instance's lease; the last one repeats. */
const POLLS_MS = [10, 20, 40, 80];

/** For this time waiters can see that a load has failed: a few polls. */
export const FAILED_MS = 250;

/**
 * Gives up "exactly once": a holder that stalls, a slow load and a lost reply each cost a second request, and nothing
 * waits for a holder longer than its lease. Gives up one more command for each miss. For that no instance depends on
 * another one's health, and no answer is wrong when two load at once: the writes are compared in Redis, by the same
 * precedence as in memory.
 *
 * One load per key among the instances on one Redis. Races between A, which holds or asks for the lease, and B:
 *
 * - Stored before the acquisition. 1. A looks and finds nothing. 2. B stores. 3. A acquires, and reads the entry in the
 *   same step: it is fresh, and A releases the lease.
 * - Holder dies. 1. B waits. 2. A is killed. 3. The lease expires. 4. B polls, looks again, and acquires.
 * - Holder stalls. 1. A stalls for longer than its lease. 2. B acquires and loads. 3. A answers its own clients; its
 *   store finds that the lease is not its own, and never overwrites what it has not read.
 * - Holder fails. 1. B and C wait. 2. The key of A is wrong, or its route is cut. 3. B and C load at once: if all
 *   are cut, nobody has waited for one after the other.
 * - Slow load. 1. The lease of A ends before its load. 2. B loads too.
 * - Reply lost. 1. A's acquisition is executed, its reply is overdue. 2. A loads without a lease, and releases what it
 *   may have got: commands of one connection are executed in their order.
 */
export class Leases {
  readonly #dependencies: LeasesDependencies;

  constructor(dependencies: LeasesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Tries to get the lease of a key, whose entry has these tags, within `budgetMs`. Never rejects. */
  async acquire(key: string, tags: readonly string[], budgetMs: Ms): Promise<Acquisition> {
    const { cache, leaseMs } = this.#dependencies;
    const token = randomUUID();
    const acquired = await cache.acquire(key, tags, { token, leaseMs, budgetMs });
    if (acquired === undefined) {
      this.#end(key, token, '', 0);
      return { state: 'unavailable', found: cache.lookInMemory(key, tags) };
    }
    const { holder, found } = acquired;
    if (holder === undefined) return { state: 'ours', lease: this.#ours(key, token), found };
    return { state: 'taken', found, landed: (signal) => this.#follow(key, holder, signal) };
  }

  #ours(key: string, token: string): Lease {
    let isOpen = true;
    const end = (value: string, ms: number) => {
      if (isOpen) this.#end(key, token, value, ms);
      isOpen = false;
    };
    return {
      token,
      endsWith: (write) => {
        isOpen = false;
        void write.then((isStored) => isStored || this.#end(key, token, '', 0));
      },
      // The token makes the value different from any other.
      fail: () => end(FAILED + token, this.#dependencies.failedMs),
      release: () => end('', 0),
    };
  }

  async #follow(key: string, holder: string, signal: AbortSignal): Promise<Landing> {
    const { redis, leaseKey, now, leaseMs, pollBudgetMs } = this.#dependencies;
    const [redisKey, startedAt] = [leaseKey(key), now()];
    try {
      let value = holder;
      for (let poll = 0; ; poll++) {
        if (value.startsWith(FAILED)) return { state: 'unavailable' };
        if (value !== holder) return { state: 'over' };
        // No lease lasts longer: this one is garbage.
        if (now() - startedAt > leaseMs) return { state: 'unavailable' };
        await delay(POLLS_MS[Math.min(poll, POLLS_MS.length - 1)], undefined, { signal });
        value = String((await withinBudget(pollBudgetMs, () => redis.getBuffer(redisKey))) ?? '');
      }
    } catch {
      return { state: signal.aborted ? 'over' : 'unavailable' };
    }
  }

  /** Replaces the lease by a value, or by nothing. If this does not reach Redis, the lease expires. */
  #end(key: string, token: string, value: string, ms: number): void {
    const { redis, leaseKey } = this.#dependencies;
    redis.runScript(END_LEASE, [leaseKey(key)], [token, value, ms]).catch(() => {});
  }
}
