import { randomUUID } from 'node:crypto';
import type { RedisListening, RedisScripting } from '../redis/connect.ts';
import { withinBudget } from '../redis/within-budget.ts';
import { CHANNEL_PREFIX, HeldLease, type HeldLeaseOptions, type Lease, leaseKeys } from './held-lease.ts';
import { ACQUIRE } from './lease-scripts.ts';
import { type Landing, LeaseWakes, type Wake } from './lease-wakes.ts';

/** The result of asking for a lease. */
export type Acquisition =
  /** Load the key: the lease is ours, or Redis did not answer in time and may have given it to us. */
  | { readonly state: 'load'; readonly lease: Lease }
  /** Another instance is loading the key: end the ticket, then await `landed`. */
  | { readonly state: 'taken'; readonly landed: () => Promise<Landing | { readonly state: 'unavailable' }> }
  | Exclude<Landing, { state: 'free' }>;

export interface RedisLeaseDependencies {
  readonly redis: RedisScripting & RedisListening;
  /** The Redis key of an entry, by its key. */
  readonly redisKey: (key: string) => string;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface RedisLeaseOptions extends HeldLeaseOptions {
  /**
   * The age of a load, in milliseconds, from which a new flight takes its lease over: such a load is too old to be
   * joined.
   */
  readonly collapseWindowMs: number;
  /** A poll that takes longer, in milliseconds, ends the wait. */
  readonly pollBudgetMs: number;
}

/** Milliseconds before the end of a lease is sent to Redis again; doubled each time. */
const FIRST_RETRY_MS = 25;

/** Milliseconds between polls of Redis while waiting to be woken; the last one repeats. */
const POLLS_MS = [25, 50, 100];

/**
 * One load per key among the instances on one Redis. A holds the lease or acquires it, B and C are other instances. The
 * races, as numbered interleavings:
 *
 * - Stored before the acquisition. 1. A looks and finds nothing. 2. B stores and ends its lease. 3. A acquires, which looks at
 *   the entry again in its own step: `changed`.
 * - Died after the store. 1. A stores. 2. A is killed before it ends its lease. 3. B polls, sees another stamp at the
 *   entry: `changed`. Later requests find the entry and ask for no lease while it is fresh.
 * - Asked between store and end. 1. A stores an answer that is stale already. 2. B, which has seen it, asks for the
 *   lease and gets `taken`. 3. A ends the lease and wakes B, which looks again and acquires, one round trip later than
 *   possible.
 * - Ended before the wait. 1. B asks for the lease and gets `taken`. 2. A releases before B waits. No wake is lost: B
 *   expects its wake before it sends its request, and the script registers B in the same step in which it sees A's
 *   lease.
 * - Wake lost. 1. B waits. 2. A releases; the message is lost with a connection. 3. B polls, with the script that acquires.
 * - Holder dies. 1. B and C wait. 2. A is killed, or stopped for longer than a lease. 3. The lease expires for want of
 *   renewal. 4. B and C poll `free` and acquire. Redis gives the lease to the first; the other one waits again.
 * - Holder outlives the lease. 1. A's query takes longer than a lease. 2. A renews. 3. B polls `taken`. The lease says
 *   how old the load is, so that a new flight of B knows when it is too old to be joined, however often it was renewed.
 * - Slow renewal. 1. A's event loop stalls for longer than a lease. 2. The lease expires, C takes it. 3. A renews: the
 *   lease is not A's, and A renews no more. If nobody has taken it, A does not take it back either: A's query may be
 *   about to time out because of the stall alone, and that timeout must not become the answer to all.
 * - Asked again. 1. A's load is nearly at its timeout. 2. A purge covers its answer, and A asks the indexer again. 3. A
 *   restarts the lease and renews it. A new flight of B sees the age of the new request and waits for it. B takes the lease
 *   over if it comes before the renewal, and then both ask.
 * - Renewal lost. 1. A's renewal is lost with its connection. 2. A renews again one interval later, before the lease
 *   expires. Where the connection stays away for longer, this is a slow renewal.
 * - Renewal after the end. 1. A renews. 2. A ends the lease. 3. The renewal arrives last and does nothing: it renews
 *   only A's own lease, which is gone.
 * - End after takeover. 1. A's lease has expired and is C's. 2. A releases, fails or stores. The end compares tokens and
 *   leaves C's lease alone; the rule of precedence decides whether A's answer stays.
 * - Acquisition reply lost. 1. A's script is executed, its reply is lost. 2. A loads without knowing of its lease. 3. A
 *   renews and ends it as if the reply had come.
 * - End lost. 1. A's end of the lease is lost with its connection. 2. A repeats it on the next one, until the lease
 *   expires: otherwise B would wait for a load that is over.
 * - Stuck holder. 1. A's load never ends. 2. A stops renewing when the load has reached `longestMs`. 3. As in "Holder
 *   dies".
 */
export class RedisLease {
  readonly #dependencies: RedisLeaseDependencies;
  readonly #options: RedisLeaseOptions;
  readonly #instance = randomUUID();
  readonly #wakes = new LeaseWakes();
  readonly #held = new Set<Lease>();
  readonly #deliveries = new Set<Promise<void>>();
  #closed = false;

  constructor(dependencies: RedisLeaseDependencies, options: RedisLeaseOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
    dependencies.redis.listen(CHANNEL_PREFIX + this.#instance, this.#wakes.onMessage);
  }

  /**
   * Acquires the lease of a key whose entry had this stamp when it was looked at, within `budgetMs`. `isFirst`: only
   * the first attempt of a flight may take an old lease over; otherwise all waiters would do so, one after another.
   * Never rejects.
   */
  async acquire(key: string, look: { stamp: Buffer; budgetMs: number; isFirst: boolean }): Promise<Acquisition> {
    const { redis, now } = this.#dependencies;
    const { leaseMs, collapseWindowMs, longestMs } = this.#options;
    const identity = { redisKey: this.#dependencies.redisKey(key), token: randomUUID(), acquiredAt: now() };
    const { redisKey, token } = identity;
    const wake = this.#wakes.expect(redisKey);
    const oldMs = look.isFirst ? collapseWindowMs : longestMs + leaseMs;
    const reply = await this.#ask(redisKey, [look.stamp, 'take', token, leaseMs, oldMs], look.budgetMs);
    if (reply.state === 'taken') {
      return { state: 'taken', landed: () => this.#watch(redisKey, look.stamp, wake).finally(wake.forget) };
    }
    wake.forget();
    if (reply.state === 'changed' || reply.state === 'failed') return reply;
    const onEnd = (ended: Lease) => this.#held.delete(ended);
    const lease = new HeldLease({ redis, now, onEnd, deliver: this.#deliver }, this.#options, identity);
    this.#held.add(lease);
    return { state: 'load', lease };
  }

  /**
   * Releases every lease whose load is still under way, and resolves when Redis has answered. Failed ends are not
   * repeated from then on.
   */
  async close(): Promise<void> {
    this.#closed = true;
    for (const lease of this.#held) lease.release();
    while (this.#deliveries.size > 0) await Promise.all(this.#deliveries);
  }

  async #watch(redisKey: string, stamp: Buffer, wake: Wake): Promise<Landing | { state: 'unavailable' }> {
    const { leaseMs, pollBudgetMs } = this.#options;
    for (let poll = 0; ; poll++) {
      const woken = await before(POLLS_MS[Math.min(poll, POLLS_MS.length - 1)] ?? 0, wake.landing);
      if (woken !== undefined) return woken;
      const reply = await this.#ask(redisKey, [stamp, 'watch', '', leaseMs, 0], pollBudgetMs);
      if (reply.state !== 'taken' && reply.state !== 'held') return reply;
    }
  }

  async #ask(redisKey: string, args: readonly (string | Buffer | number)[], budgetMs: number): Promise<Reply> {
    const { redis } = this.#dependencies;
    try {
      const keys = [redisKey, ...leaseKeys(redisKey)];
      const reply = await withinBudget(budgetMs, () => redis.runScript(ACQUIRE, keys, [...args, this.#instance]));
      const [state = '', failure = ''] = (reply as unknown[]).map(String);
      return STATES.has(state) ? ({ state, failure } as Reply) : { state: 'unavailable' };
    } catch {
      return { state: 'unavailable' };
    }
  }

  /** Runs in the background until Redis has answered or the lease has expired. */
  readonly #deliver = (send: () => Promise<unknown>, expiresAt: number): void => {
    const delivery = this.#untilHeard(send, expiresAt).finally(() => this.#deliveries.delete(delivery));
    this.#deliveries.add(delivery);
  };

  async #untilHeard(send: () => Promise<unknown>, expiresAt: number): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs *= 2) {
      try {
        await send();
        return;
      } catch {
        if (this.#closed || this.#dependencies.now() + retryMs > expiresAt) return;
        await before(retryMs, new Promise(() => {}));
      }
    }
  }
}

type Reply = Landing | { readonly state: 'taken' } | { readonly state: 'held' } | { readonly state: 'unavailable' };

/** The words that the script returns. */
const STATES = new Set(['changed', 'failed', 'free', 'held', 'taken']);

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
