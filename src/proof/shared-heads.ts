// eslint-disable-next-line no-restricted-syntax -- a token only has to differ from those of all instances
import { randomUUID } from 'node:crypto';
import { leaseKeyOf } from '../cache/redis-keys.ts';
import { ACQUIRE, END_LEASE, STORE } from '../cache/redis-scripts.ts';
import type { ConnectedRedis } from '../redis/connect.ts';
import { withinBudget } from '../redis/within-budget.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import type { NamedHead } from './block-follower.ts';

/** A head of another instance is taken if its request is not older than this. */
const YOUNG_MS: Ms = 300;

/** The lease of a poll lasts this long: an instance that stops while it has one costs the others no more. */
const LEASE_MS: Ms = 300;

/** An instance whose last poll took longer asks by itself: when its heads arrive, they are hardly young any more. */
const SLOW_POLL_MS: Ms = 250;

/** A head that is dated further ahead comes from another clock. */
const AHEAD_MS: Ms = 10;

/** Redis keeps a head for this long. */
const KEPT_MS: Ms = 1000;

/** While another instance polls, its head is looked for this often. */
const LOOK_EVERY_MS: Ms = 30;

/** Heads that were seen are remembered: many times those that Redis can hold within {@link KEPT_MS}. */
const MOST_SEEN = 1000;

/** The right to poll the head. `token`: of the lease; `undefined` if the head is not shared. */
export interface Turn {
  readonly token: string | undefined;
}

/** The turn of an instance that shares no head. */
export const NOT_SHARED: Turn = { token: undefined };

/** A head in Redis. */
interface StoredHead {
  readonly seqno: number;
  /** The instant of its request, less its longest time in other caches. */
  readonly askedAt: EpochMs;
  readonly indexer: string;
}

export interface SharedHeadsDependencies {
  readonly redis: Pick<ConnectedRedis, 'runScript'>;
  /** The Redis key of the head: only instances with the same indexers share it. */
  readonly redisKey: string;
  /** See `Clock.isShared`. */
  readonly isClockShared: () => boolean;
  /** The longest time of one look. */
  readonly budgetMs: Ms;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
}

/**
 * One poll of the head for all instances on one Redis. Gives up aliveness where Redis is slow or a lease is lost: then
 * each instance asks by itself.
 *
 * A head proves that no later block existed at the instant of its request, so it must never look younger than it is. It
 * is taken when it is first seen or never, so its instant is not later than that. Ignored are heads that are dated ahead,
 * and those that are not later than the last one: the same low head twice would mean that the database fell back.
 */
export class SharedHeads {
  readonly #dependencies: SharedHeadsDependencies;
  /** The latest request for a head that was taken, or that this instance has sent. */
  #latestAskedAt: EpochMs = Number.NEGATIVE_INFINITY;
  /** The requests for all heads that were seen in Redis. */
  readonly #seen = new Set<EpochMs>();
  #lastPollMs: Ms = 0;

  constructor(dependencies: SharedHeadsDependencies) {
    this.#dependencies = dependencies;
  }

  /** A young head of another instance, or the right to poll it, after a wait of at most 300 ms. Never rejects. */
  async next(): Promise<NamedHead | Turn> {
    const { isClockShared, monotonic } = this.#dependencies;
    const token = randomUUID();
    const until = monotonic() + LEASE_MS;
    let isShared = isClockShared() && this.#lastPollMs <= SLOW_POLL_MS;
    while (isShared && monotonic() < until) {
      try {
        const [holder, stored] = await this.#acquire(token);
        const head = this.#taken(stored);
        if (holder === null && head === undefined) return { token };
        if (holder === null) this.end({ token });
        if (head !== undefined) return head;
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS).unref());
      } catch {
        isShared = false;
      }
    }
    return NOT_SHARED;
  }

  /** Takes the own head of a turn, whose request took this long, and shares it. */
  share({ token }: Turn, head: StoredHead, tookMs: Ms): void {
    const { redis, redisKey, isClockShared } = this.#dependencies;
    this.#lastPollMs = tookMs;
    this.#latestAskedAt = Math.max(this.#latestAskedAt, head.askedAt);
    if (token === undefined || !isClockShared()) {
      this.end({ token });
      return;
    }
    redis.runScript(STORE, [redisKey, leaseKeyOf(redisKey)], [token, JSON.stringify(head), KEPT_MS]).catch(() => {});
  }

  /** Ends a turn that yields no head. */
  end({ token }: Turn): void {
    const { redis, redisKey } = this.#dependencies;
    if (token !== undefined) redis.runScript(END_LEASE, [leaseKeyOf(redisKey)], [token, '', 0]).catch(() => {});
  }

  /** The value of another instance's lease, and the head; takes the lease if it is free. */
  async #acquire(token: string): Promise<readonly [Buffer | null, Buffer | null]> {
    const { redis, redisKey, budgetMs } = this.#dependencies;
    const ask = () => redis.runScript(ACQUIRE, [redisKey, leaseKeyOf(redisKey)], [token, LEASE_MS]);
    const [holder, stored] = (await withinBudget(budgetMs, ask)) as readonly [Buffer | null, Buffer | null];
    return [holder, stored];
  }

  /** The head in Redis, if it can be taken. */
  #taken(bytes: Buffer | null): NamedHead | undefined {
    const { now, monotonic } = this.#dependencies;
    const head = bytes === null ? undefined : headIn(bytes);
    if (head === undefined || this.#seen.has(head.askedAt)) return undefined;
    if (this.#seen.size === MOST_SEEN) this.#seen.clear();
    this.#seen.add(head.askedAt);
    const { seqno, askedAt, indexer } = head;
    const ageMs = now() - askedAt;
    // The clock was set back, and all heads from before are gone.
    if (this.#latestAskedAt > now() + AHEAD_MS) this.#latestAskedAt = Number.NEGATIVE_INFINITY;
    if (askedAt <= this.#latestAskedAt || ageMs < -AHEAD_MS || ageMs > YOUNG_MS) return undefined;
    this.#latestAskedAt = askedAt;
    return { seqno, askedAt: monotonic() - Math.max(0, ageMs), indexer, isShared: true };
  }
}

function headIn(bytes: Buffer): StoredHead | undefined {
  try {
    const { seqno, askedAt, indexer } = JSON.parse(bytes.toString());
    const isHead = Number.isInteger(seqno) && Number.isFinite(askedAt) && typeof indexer === 'string';
    return isHead ? { seqno, askedAt, indexer } : undefined;
  } catch {
    return undefined;
  }
}
