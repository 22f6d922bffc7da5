import { type Entry, type Freshness, freshnessOf, usableUntil } from './entry.ts';
import type { MemoryTier } from './memory-tier.ts';
import type { Tier } from './tier.ts';

/** What both tiers together hold for a key. `stale-if-error` is a miss with a fallback. */
export type Lookup =
  | { readonly state: Exclude<Freshness, 'expired'>; readonly entry: Entry; readonly tier: 'memory' | 'redis' }
  | { readonly state: 'miss' };

/** Whether a tier took an entry, or why none did. */
export type StoreOutcome = 'stored' | 'expired' | 'superseded' | 'too-large';

export interface TieredCacheOptions {
  readonly memory: MemoryTier;
  /** Absent when the proxy runs on memory alone. */
  readonly redis: Tier | undefined;
  /** After Redis failed, how long memory answers by itself before Redis is asked again, in milliseconds. */
  readonly retryRedisMs: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Memory before Redis: what memory holds and may still answer with costs no Redis call. Never throws. */
export class TieredCache {
  readonly #options: TieredCacheOptions;

  constructor(options: TieredCacheOptions) {
    this.#options = options;
  }

  /** What memory may answer with at once. A copy that Redis has to be asked about first is a miss here. */
  lookInMemory(key: string): Lookup {
    const { memory, redis, now } = this.#options;
    const copy = memory.peek(key);
    if (copy === undefined) return { state: 'miss' };
    const unconfirmed = redis !== undefined && now() >= copy.askRedisAt && now() < copy.entry.freshUntil;
    return unconfirmed ? { state: 'miss' } : this.#judge(copy.entry, 'memory');
  }

  /** The best of both tiers, asking Redis once; memory keeps what it learned. */
  async lookUp(key: string): Promise<Lookup> {
    const { memory, redis, now, retryRedisMs } = this.#options;
    if (redis === undefined) return this.lookInMemory(key);
    const read = await redis.get(key);
    const copy = memory.peek(key);
    switch (read.state) {
      case 'found':
        // Another flight may have stored a newer answer while Redis was asked.
        if (copy !== undefined && copy.entry.askedAt > read.entry.askedAt) return this.#judge(copy.entry, 'memory');
        memory.set(read.entry);
        return this.#judge(read.entry, 'redis');
      case 'absent':
        // Redis let go of it before its time (a purge, an eviction): the memory copy must not outlive it.
        if (copy !== undefined && now() >= copy.askRedisAt && now() < copy.entry.freshUntil) {
          memory.delete(key);
          return { state: 'miss' };
        }
        break;
      case 'failed':
        if (copy !== undefined) copy.askRedisAt = Math.max(copy.askRedisAt, now() + retryRedisMs);
        break;
    }
    return copy === undefined ? { state: 'miss' } : this.#judge(copy.entry, 'memory');
  }

  /** What memory could serve if the indexer fails: any usable copy, confirmed by Redis or not. */
  lookForFallback(key: string): Lookup {
    const copy = this.#options.memory.peek(key);
    return copy === undefined ? { state: 'miss' } : this.#judge(copy.entry, 'memory');
  }

  /** Stores in both tiers, Redis in the background. */
  set(entry: Entry): StoreOutcome {
    const { memory, redis, now } = this.#options;
    if (usableUntil(entry) <= now()) return 'expired';
    // A flight that was asked later may have landed first: what it stored is not to be put back.
    const kept = memory.peek(entry.key)?.entry;
    if (kept !== undefined && kept.askedAt > entry.askedAt) return 'superseded';
    const inMemory = memory.set(entry);
    const inRedis = redis?.set(entry) ?? false;
    return inMemory || inRedis ? 'stored' : 'too-large';
  }

  #judge(entry: Entry, tier: 'memory' | 'redis'): Lookup {
    const state = freshnessOf(entry, this.#options.now());
    return state === 'expired' ? { state: 'miss' } : { state, entry, tier };
  }
}
