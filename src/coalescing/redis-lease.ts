import { randomUUID } from 'node:crypto';
import type { RedisListening, RedisScripting } from '../redis/connect.ts';
import { withinBudget } from '../redis/within-budget.ts';
import { CLAIM, FAIL, RELEASE, SETTLE } from './lease-scripts.ts';
import { type Landing, LeaseWakes, type Wake } from './lease-wakes.ts';

/** What a claim comes to. */
export type Claim =
  /** Load it: the lease is ours, or Redis did not say so in time and may yet have given it to us. */
  | { readonly state: 'load'; readonly lease: Lease }
  /** Another instance loads it: to be waited for, without a permit. */
  | { readonly state: 'taken'; readonly landed: () => Promise<Landing | { readonly state: 'unavailable' }> }
  | Exclude<Landing, { state: 'free' }>;

/** The right to load a key for all instances. To be ended exactly once, in one of three ways. */
export interface Lease {
  /** Milliseconds until the flight under it has to have ended, above 0. */
  readonly remainingMs: number;
  /** The first way: hands over what ends it in one step with the store of the entry. Abandoned, it is released. */
  settle(): Settlement;
  /** The second: the indexer failed, and that is everybody's answer. */
  fail(failure: string): void;
  /** The third: nothing came of it that would be true elsewhere. Exactly one of those who wait takes over. */
  release(): void;
}

/** What follows the store of an entry in its step. */
interface Settlement {
  readonly lua: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly abandoned: () => void;
}

export interface RedisLeaseOptions {
  readonly redis: RedisScripting & RedisListening;
  /** Where the entry of a key is. */
  readonly redisKey: (key: string) => string;
  /** How long a lease is held at most: what a killed holder costs the others. */
  readonly leaseMs: number;
  /** The age from which a new flight takes a lease over: what it waited for would be asked too long ago. */
  readonly followableMs: number;
  /** How long a failure is everybody's answer. */
  readonly restAfterFailureMs: number;
  /** A poll that takes longer ends the wait. */
  readonly pollBudgetMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** What a flight has to be done before the end of its lease, so that the answer can be stored under it. */
const MARGIN_MS = 250;

/** Before Redis is told again that a lease has ended; doubled each time. */
const FIRST_RETRY_MS = 25;

const CHANNEL_PREFIX = 'toncache:wake:';

/** Between looks at Redis while waiting to be woken; the last one repeats. */
const POLLS_MS = [25, 50, 100];

/**
 * One load per key among the instances on one Redis. The races, step by step:
 *
 * - A looks and finds nothing; B stores and releases; A claims. The claim looks again in its own step: `changed`.
 * - A claims and is told `taken`; B releases before A listens. A's wake is expected before the claim is sent, and the
 *   claim registers A in the same step in which it sees B's lease: the release that follows it finds A.
 * - B's message is lost with a connection. A polls, in the same step as above.
 * - B is killed. Its lease ends by itself; all poll `free`, all claim, and Redis gives the lease to the first.
 * - B is slow, its lease has ended and is C's. B's release compares and leaves C's alone; B's store is judged by the rule
 *   of precedence like any other.
 * - A's claim is executed but its reply is lost. A loads, and ends the lease that it may have.
 * - A's end is lost with its connection. A repeats it on the next one, or B would wait for a load that is over.
 */
export class RedisLease {
  readonly #options: RedisLeaseOptions;
  readonly #instance = randomUUID();
  readonly #wakes = new LeaseWakes();
  readonly #held = new Set<Lease>();
  readonly #ending = new Set<Promise<void>>();
  #closed = false;

  constructor(options: RedisLeaseOptions) {
    this.#options = options;
    options.redis.listen(CHANNEL_PREFIX + this.#instance, this.#wakes.onMessage);
  }

  /**
   * Claims the load of a key whose entry had this stamp when it was looked at, within `budgetMs`. `isFirst`: only the
   * first claim of a flight may take an old lease over, or all who wait would, one after another. Never rejects.
   */
  async claim(key: string, claim: { stamp: Buffer; budgetMs: number; isFirst: boolean }): Promise<Claim> {
    const { leaseMs, followableMs } = this.#options;
    const redisKey = this.#options.redisKey(key);
    const value = `held ${leaseMs} ${randomUUID()}`;
    const wake = this.#wakes.expect(redisKey);
    const lease = this.#lease(redisKey, value);
    const oldMs = claim.isFirst ? followableMs : leaseMs;
    const reply = await this.#ask(redisKey, [claim.stamp, 'take', value, leaseMs, oldMs], claim.budgetMs);
    if (reply.state === 'taken') {
      return { state: 'taken', landed: () => this.#watch(redisKey, claim.stamp, wake).finally(wake.forget) };
    }
    wake.forget();
    if (reply.state === 'changed' || reply.state === 'failed') return reply;
    this.#held.add(lease);
    return { state: 'load', lease };
  }

  /** Releases every lease whose load is still under way, and resolves when none is being ended. No end is repeated then. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const lease of this.#held) lease.release();
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }

  async #watch(redisKey: string, stamp: Buffer, wake: Wake): Promise<Landing | { state: 'unavailable' }> {
    for (let poll = 0; ; poll++) {
      const woken = await before(POLLS_MS[Math.min(poll, POLLS_MS.length - 1)] ?? 0, wake.landing);
      if (woken !== undefined) return woken;
      const reply = await this.#ask(redisKey, [stamp, 'watch', '', 0, 0], this.#options.pollBudgetMs);
      if (reply.state !== 'taken' && reply.state !== 'held') return reply;
    }
  }

  async #ask(redisKey: string, args: readonly (string | Buffer | number)[], budgetMs: number): Promise<Reply> {
    const { redis } = this.#options;
    try {
      const keys = [redisKey, ...leaseKeys(redisKey)];
      const reply = await withinBudget(budgetMs, () => redis.runScript(CLAIM, keys, [...args, this.#instance]));
      const [state = '', failure = ''] = (reply as unknown[]).map(String);
      return STATES.has(state) ? ({ state, failure } as Reply) : { state: 'unavailable' };
    } catch {
      return { state: 'unavailable' };
    }
  }

  #lease(redisKey: string, value: string): Lease {
    const { leaseMs, restAfterFailureMs, now } = this.#options;
    const keys = leaseKeys(redisKey);
    const args = [value, CHANNEL_PREFIX, redisKey];
    const endsAt = now() + leaseMs;
    const end = (script: string, ...more: readonly (string | number)[]) => {
      this.#held.delete(lease);
      this.#end(() => this.#options.redis.runScript(script, keys, [...args, ...more]), endsAt);
    };
    const lease: Lease = {
      get remainingMs() {
        return Math.max(1, Math.floor(endsAt - MARGIN_MS - now()));
      },
      settle: () => {
        this.#held.delete(lease);
        return { lua: SETTLE, keys, args, abandoned: lease.release };
      },
      fail: (failure) => end(FAIL, failure, restAfterFailureMs),
      release: () => end(RELEASE),
    };
    return lease;
  }

  /** In the background, until Redis has heard of it or the lease has ended by itself. */
  #end(tell: () => Promise<unknown>, endsAt: number): void {
    const ending = this.#untilHeard(tell, endsAt).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  async #untilHeard(tell: () => Promise<unknown>, endsAt: number): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs *= 2) {
      try {
        await tell();
        return;
      } catch {
        if (this.#closed || this.#options.now() + retryMs > endsAt) return;
        await before(retryMs, new Promise(() => {}));
      }
    }
  }
}

type Reply = Landing | { readonly state: 'taken' } | { readonly state: 'held' } | { readonly state: 'unavailable' };

/** What the script says. */
const STATES = new Set(['changed', 'failed', 'free', 'held', 'taken']);

function leaseKeys(redisKey: string): string[] {
  return [`${redisKey}:lease`, `${redisKey}:waiters`];
}

/** The value of `promise`, or `undefined` when it does not come within `ms`. */
async function before<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}
