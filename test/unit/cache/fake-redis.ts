import type { Entry } from '../../../src/cache/entry.ts';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import type { Acquired, SharedCopy, SharedStore, SharedTier, TierRead } from '../../../src/cache/tier.ts';
import { type AppliedBans, TieredCache } from '../../../src/cache/tiered-cache.ts';
import { anEntry, NOTHING_PURGED } from '../../support/entry.ts';

export const ASKED_AT = 1_700_000_000_000;
const RETRY_MS = 1000;
export const ENTRY = anEntry({ askedAt: ASKED_AT });
export const { key } = ENTRY;

/** Of whatever it holds. */
export const CHECKSUM = 0xfe_dc_ba_98;

/** A Redis that holds entries, loses them or fails, and counts what it is asked. */
class FakeRedis implements SharedTier {
  readonly kept = new Map<string, Entry>();
  failing = false;
  /** Whether it takes stores. */
  takes = true;
  /** Ends the last store that was taken. */
  onEnd: SharedStore['onEnd'] | undefined;
  reads = 0;
  /** The copies that it was asked about, one for each read. */
  readonly copies: (SharedCopy | undefined)[] = [];
  /** Whether it still holds what it is asked about. */
  isUnchanged = false;
  /** Whether it gives the checksum of what it holds. */
  givesChecksums = false;
  /** The lease that another instance has. */
  holder: string | undefined;
  /** Awaited by each read before it answers. */
  hold: Promise<void> | undefined;

  async get(asked: string, copy?: SharedCopy): Promise<TierRead> {
    this.reads++;
    this.copies.push(copy);
    await this.hold;
    if (this.failing) return { state: 'failed' };
    if (copy !== undefined && this.isUnchanged) return { state: 'unchanged' };
    return this.#find(asked);
  }

  async acquire(asked: string): Promise<Acquired | undefined> {
    await this.hold;
    return this.failing ? undefined : { holder: this.holder, read: this.#find(asked) };
  }

  #find(asked: string): Acquired['read'] {
    const entry = this.kept.get(asked);
    if (entry === undefined) return { state: 'absent' };
    return { state: 'found', entry, ...(this.givesChecksums ? { checksum: CHECKSUM } : {}) };
  }

  async delete(deleted: string): Promise<void> {
    this.kept.delete(deleted);
  }

  set(entry: Entry, store?: SharedStore): boolean {
    if (!this.takes) return false;
    if (!this.failing) this.kept.set(entry.key, entry);
    this.onEnd = store?.onEnd;
    return true;
  }
}

export function cacheAt(startAt = ASKED_AT, maxSizeBytes = 1024 * 1024) {
  const clock = { now: startAt };
  const memory = new MemoryTier({ now: () => clock.now }, { maxSizeBytes, maxEntries: 1000 });
  const redis = new FakeRedis();
  const purges: { -readonly [N in keyof AppliedBans]: AppliedBans[N] } = { ...NOTHING_PURGED };
  const cacheWith = (tier: SharedTier | undefined) =>
    new TieredCache({ memory, redis: tier, purges, now: () => clock.now }, { retryRedisMs: RETRY_MS });
  return { clock, memory, redis, purges, cache: cacheWith(redis), cacheOfMemory: cacheWith(undefined) };
}
