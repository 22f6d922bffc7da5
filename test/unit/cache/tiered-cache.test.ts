import { describe, expect, test, vi } from 'vitest';
import type { Entry } from '../../../src/cache/entry.ts';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import type { SharedStore, SharedTier, TierRead } from '../../../src/cache/tier.ts';
import { type Purges, TieredCache } from '../../../src/cache/tiered-cache.ts';
import { usableUntil } from '../../../src/instants.ts';
import { anEntry, NOTHING_PURGED } from '../../support/entry.ts';

const ASKED_AT = 1_700_000_000_000;
const RETRY_MS = 1000;
const ENTRY = anEntry({ askedAt: ASKED_AT });
const { key } = ENTRY;

/** A Redis that holds entries, loses them or fails, and counts what it is asked. */
class FakeRedis implements SharedTier {
  readonly kept = new Map<string, Entry>();
  failing = false;
  /** Whether it takes stores. */
  takes = true;
  /** Ends the last store that was taken. */
  onEnd: SharedStore['onEnd'] | undefined;
  reads = 0;
  /** Awaited by each read before it answers. */
  hold: Promise<void> | undefined;

  async get(asked: string): Promise<TierRead> {
    this.reads++;
    await this.hold;
    if (this.failing) return { state: 'failed' };
    const entry = this.kept.get(asked);
    return entry === undefined ? { state: 'absent' } : { state: 'found', entry };
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

function cacheAt(startAt = ASKED_AT, maxSizeBytes = 1024 * 1024) {
  const clock = { now: startAt };
  const memory = new MemoryTier({ maxSizeBytes, maxEntries: 1000, now: () => clock.now });
  const redis = new FakeRedis();
  const purges: { -readonly [N in keyof Purges]: Purges[N] } = { ...NOTHING_PURGED };
  const cacheWith = (tier: SharedTier | undefined) =>
    new TieredCache({ memory, redis: tier, retryRedisMs: RETRY_MS, purges, now: () => clock.now });
  return { clock, memory, redis, purges, cache: cacheWith(redis), cacheOfMemory: cacheWith(undefined) };
}

describe('the memory TTL', () => {
  test('lets memory answer alone for as long as the entry says, and then Redis is asked first', async () => {
    const { cache, clock, redis } = cacheAt();
    cache.set(ENTRY);
    clock.now = ASKED_AT + ENTRY.memoryTtl - 1;
    expect(cache.lookInMemory(key)).toEqual({ state: 'fresh', entry: ENTRY, tier: 'memory' });
    clock.now++;
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
    expect(await cache.lookUp(key)).toEqual({ state: 'fresh', entry: ENTRY, tier: 'redis' });
    expect(redis.reads).toBe(1);
  });

  test('starts again when Redis still has the entry', async () => {
    const { cache, clock } = cacheAt();
    cache.set(ENTRY);
    clock.now = ASKED_AT + ENTRY.memoryTtl;
    await cache.lookUp(key);
    clock.now += ENTRY.memoryTtl - 1;
    expect(cache.lookInMemory(key).state).toBe('fresh');
    clock.now++;
    expect(cache.lookInMemory(key).state).toBe('miss');
  });

  test('starts when memory gets the entry, even from Redis and long after it was made', async () => {
    const { cache, clock, redis } = cacheAt();
    redis.kept.set(key, ENTRY);
    clock.now = ASKED_AT + 30_000;
    expect(cache.lookInMemory(key).state).toBe('miss');
    expect(await cache.lookUp(key)).toMatchObject({ state: 'fresh', tier: 'redis' });
    clock.now += ENTRY.memoryTtl - 1;
    expect(cache.lookInMemory(key)).toMatchObject({ state: 'fresh', tier: 'memory' });
    clock.now++;
    expect(cache.lookInMemory(key).state).toBe('miss');
  });

  test('is ignored when Redis is not configured', async () => {
    const { cacheOfMemory: cache, clock } = cacheAt();
    cache.set(ENTRY);
    clock.now = ENTRY.freshUntil - 1;
    expect(cache.lookInMemory(key)).toMatchObject({ state: 'fresh', tier: 'memory' });
    expect(await cache.lookUp(key)).toMatchObject({ state: 'fresh', tier: 'memory' });
  });

  test('ends with the entry that another instance refreshed meanwhile', async () => {
    const { cache, clock, redis } = cacheAt();
    cache.set(ENTRY);
    const newer = anEntry({ askedAt: ASKED_AT + 5000, body: Buffer.from('{"transactions":[{}]}') });
    redis.kept.set(key, newer);
    clock.now = ASKED_AT + ENTRY.memoryTtl;
    expect(await cache.lookUp(key)).toEqual({ state: 'fresh', entry: newer, tier: 'redis' });
    expect(cache.lookInMemory(key)).toMatchObject({ entry: newer, tier: 'memory' });
  });
});

describe('an entry that is no longer in Redis', () => {
  test('is not served from memory once Redis was asked: it was purged', async () => {
    const { cache, clock, redis } = cacheAt();
    cache.set(ENTRY);
    redis.kept.clear();
    clock.now = ASKED_AT + ENTRY.memoryTtl;
    expect(await cache.lookUp(key)).toEqual({ state: 'miss' });
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
    expect(cache.lookForFallback(key)).toEqual({ state: 'miss' });
  });

  test('is still served within the memory TTL: its write may be under way', async () => {
    const { cache, clock, redis } = cacheAt();
    cache.set(ENTRY);
    redis.kept.clear();
    clock.now = ASKED_AT + ENTRY.memoryTtl - 1;
    expect(await cache.lookUp(key)).toMatchObject({ state: 'fresh', tier: 'memory' });
  });
});

describe('a Redis that fails', () => {
  test('does not end entries in memory, which answers alone for a while', async () => {
    const { cache, clock, redis } = cacheAt();
    cache.set(ENTRY);
    redis.failing = true;
    clock.now = ASKED_AT + ENTRY.memoryTtl;
    expect(await cache.lookUp(key)).toEqual({ state: 'fresh', entry: ENTRY, tier: 'memory' });
    clock.now += RETRY_MS - 1;
    expect(cache.lookInMemory(key)).toMatchObject({ state: 'fresh', tier: 'memory' });
    clock.now++;
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
  });

  test('makes no entry live longer', async () => {
    const { cache, clock, redis } = cacheAt();
    cache.set(ENTRY);
    redis.failing = true;
    clock.now = ENTRY.freshUntil - 1;
    expect((await cache.lookUp(key)).state).toBe('fresh');
    clock.now++;
    expect(cache.lookInMemory(key).state).toBe('stale-while-revalidate');
    clock.now = usableUntil(ENTRY);
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
    expect(await cache.lookUp(key)).toEqual({ state: 'miss' });
    expect(cache.lookForFallback(key)).toEqual({ state: 'miss' });
  });

  test('is a miss for entries that are not in memory', async () => {
    const { cache, redis } = cacheAt();
    redis.failing = true;
    expect(await cache.lookUp(key)).toEqual({ state: 'miss' });
  });
});

describe('an entry past its lifetime', () => {
  test('is stale while it may be refreshed, then only for failures, then gone', () => {
    const { cacheOfMemory: cache, clock } = cacheAt();
    cache.set(ENTRY);
    const states = [
      ENTRY.freshUntil - 1,
      ENTRY.freshUntil,
      ENTRY.staleWhileRevalidateUntil - 1,
      ENTRY.staleWhileRevalidateUntil,
      ENTRY.staleIfErrorUntil - 1,
      ENTRY.staleIfErrorUntil,
    ].map((instant) => {
      clock.now = instant;
      return cache.lookInMemory(key).state;
    });
    expect(states).toEqual([
      'fresh',
      'stale-while-revalidate',
      'stale-while-revalidate',
      'stale-if-error',
      'stale-if-error',
      'miss',
    ]);
  });

  test('ends in memory at the same time as in Redis, however late memory got it', async () => {
    const { cache, clock, redis } = cacheAt();
    redis.kept.set(key, ENTRY);
    clock.now = usableUntil(ENTRY) - 1;
    expect(await cache.lookUp(key)).toMatchObject({ state: 'stale-if-error', tier: 'redis' });
    clock.now++;
    redis.failing = true;
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
    expect(await cache.lookUp(key)).toEqual({ state: 'miss' });
  });

  test('is replaced by a fresh one in Redis', async () => {
    const { cache, clock, redis } = cacheAt();
    cache.set(ENTRY);
    clock.now = ENTRY.freshUntil;
    const newer = anEntry({ askedAt: ENTRY.freshUntil - 1 });
    redis.kept.set(key, newer);
    expect(await cache.lookUp(key)).toEqual({ state: 'fresh', entry: newer, tier: 'redis' });
  });

  test('is a fallback after its memory TTL too', () => {
    const { cache, clock } = cacheAt();
    cache.set(ENTRY);
    clock.now = ASKED_AT + ENTRY.memoryTtl;
    expect(cache.lookForFallback(key)).toMatchObject({ state: 'fresh', entry: ENTRY });
  });

  test('is no longer stored', () => {
    const { cache, clock, redis, memory } = cacheAt();
    clock.now = usableUntil(ENTRY);
    expect(cache.set(ENTRY)).toEqual({ outcome: 'expired' });
    expect([redis.kept.size, memory.count]).toEqual([0, 0]);
  });
});

describe('of two answers to one key', () => {
  const older = anEntry({ askedAt: ASKED_AT, body: Buffer.from('{"transactions":["older"]}') });
  const newer = anEntry({ askedAt: ASKED_AT + 1, body: Buffer.from('{"transactions":["newer"]}') });

  test('the one that was requested later stays in both tiers, though the other one arrives last', async () => {
    const { cache, redis } = cacheAt(ASKED_AT + 2);
    cache.set(newer);
    expect(cache.set(older)).toEqual({ outcome: 'superseded', kept: newer });
    expect(cache.lookInMemory(key)).toMatchObject({ entry: newer });
    expect(redis.kept.get(key)).toBe(newer);
  });

  test('the one that was requested later replaces the other', () => {
    const { cache, redis } = cacheAt(ASKED_AT + 2);
    cache.set(older);
    expect(cache.set(newer)).toEqual({ outcome: 'stored' });
    expect(cache.lookInMemory(key)).toMatchObject({ entry: newer });
    expect(redis.kept.get(key)).toBe(newer);
  });

  test('the one that memory got while Redis was asked is served if it is newer', async () => {
    const { cache, clock, redis } = cacheAt();
    redis.kept.set(key, older);
    const { promise, resolve } = Promise.withResolvers<void>();
    redis.hold = promise;
    const looking = cache.lookUp(key);
    clock.now = ASKED_AT + 2;
    cache.set(newer);
    redis.kept.set(key, older);
    resolve();
    expect(await looking).toMatchObject({ entry: newer, tier: 'memory' });
    expect(cache.lookInMemory(key)).toMatchObject({ entry: newer });
  });

  test('a copy that memory got while Redis was asked stays when Redis has none', async () => {
    const { cache, redis } = cacheAt();
    const { promise, resolve } = Promise.withResolvers<void>();
    redis.hold = promise;
    const looking = cache.lookUp(key);
    cache.set(newer);
    redis.kept.clear();
    resolve();
    expect(await looking).toMatchObject({ state: 'fresh', entry: newer, tier: 'memory' });
  });
});

describe('one who waits for an entry to reach Redis', () => {
  const newer = anEntry({ askedAt: ASKED_AT + 1 });
  const lessComplete = anEntry({
    askedAt: ASKED_AT + 2,
    completeness: { rank: 0, members: Buffer.alloc(0), tentative: Buffer.alloc(0) },
  });

  test.each([
    ['stored', true],
    ['kept', true],
    ['failed', false],
  ] as const)('is called when Redis has answered: %s', (outcome, isShared) => {
    const { cache, redis } = cacheAt();
    const onShared = vi.fn();
    cache.set(ENTRY, { onShared });
    expect(onShared).not.toHaveBeenCalled();
    redis.onEnd?.(outcome);
    expect(onShared.mock.calls).toEqual([[isShared]]);
  });

  test('is called when Redis has answered to the kept entry that a regressed answer extended', () => {
    const { cache, redis } = cacheAt(ASKED_AT + 2);
    cache.set(newer);
    const onShared = vi.fn();
    expect(cache.set(lessComplete, { onShared })).toMatchObject({ outcome: 'regressed' });
    expect(onShared).not.toHaveBeenCalled();
    redis.onEnd?.('stored');
    expect(onShared.mock.calls).toEqual([[true]]);
  });

  test.each<[string, (world: ReturnType<typeof cacheAt>) => void]>([
    ['expired', ({ clock }) => Object.assign(clock, { now: usableUntil(ENTRY) })],
    ['purged', ({ purges }) => Object.assign(purges, { applyBans: () => undefined })],
    ['superseded', ({ cache }) => cache.set(newer)],
    ['stored', ({ redis }) => Object.assign(redis, { takes: false })],
  ])('is called at once when nothing comes to Redis: %s', (outcome, arrange) => {
    const world = cacheAt(ASKED_AT + 1);
    arrange(world);
    const onShared = vi.fn();
    expect(world.cache.set(ENTRY, { onShared })).toMatchObject({ outcome });
    expect(onShared.mock.calls).toEqual([[false]]);
  });
});

describe('an entry beside which Redis kept a better one', () => {
  test('leaves memory, which asks Redis for the better one next', async () => {
    const { cache, redis } = cacheAt();
    const better = anEntry({ askedAt: ASKED_AT - 1, completeness: { ...ENTRY.completeness, rank: 3 } });
    cache.set(anEntry({ ...ENTRY, completeness: { ...ENTRY.completeness, rank: 1 } }));
    redis.kept.set(key, better);
    redis.onEnd?.('kept');
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
    expect(await cache.lookUp(key)).toMatchObject({ entry: better, tier: 'redis' });
  });

  test.each(['stored', 'failed'] as const)('stays in memory otherwise: %s', (outcome) => {
    const { cache, redis } = cacheAt();
    cache.set(ENTRY);
    redis.onEnd?.(outcome);
    expect(cache.lookInMemory(key)).toMatchObject({ state: 'fresh', entry: ENTRY });
  });

  test('takes nothing away that memory has got since', () => {
    const { cache, redis, clock } = cacheAt();
    cache.set(ENTRY);
    const { onEnd } = redis;
    const newer = anEntry({ askedAt: ASKED_AT + 1 });
    clock.now++;
    cache.set(newer);
    onEnd?.('kept');
    expect(cache.lookInMemory(key)).toMatchObject({ entry: newer });
  });
});

describe('an entry too large for memory', () => {
  const large = anEntry({ body: Buffer.alloc(70_000), askedAt: ASKED_AT });

  test('is not stored without Redis, and the result says so', () => {
    const { cacheOfMemory: cache } = cacheAt(ASKED_AT);
    expect(cache.set(large)).toEqual({ outcome: 'too-large' });
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
  });

  test('is served from Redis', async () => {
    const { cache } = cacheAt(ASKED_AT);
    expect(cache.set(large)).toEqual({ outcome: 'stored' });
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
    expect(await cache.lookUp(key)).toMatchObject({ state: 'fresh', entry: large, tier: 'redis' });
  });
});

test('a look-up asks Redis once', async () => {
  const { cache, redis, clock } = cacheAt();
  cache.set(ENTRY);
  for (const instant of [ASKED_AT + 1, ASKED_AT + ENTRY.memoryTtl, ENTRY.freshUntil, usableUntil(ENTRY)]) {
    clock.now = instant;
    const before = redis.reads;
    await cache.lookUp(key);
    expect(redis.reads - before).toBe(1);
  }
});

describe('a purge', () => {
  const gone = () => undefined;

  test('ends an entry for every use, in both tiers', async () => {
    const { cache, memory, redis, purges } = cacheAt();
    cache.set(ENTRY);
    purges.applyBans = gone;
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
    expect(cache.lookForFallback(key)).toEqual({ state: 'miss' });
    expect(await cache.lookUp(key)).toEqual({ state: 'miss' });
    memory.clear();
    expect(redis.kept.has(key)).toBe(true);
    expect(await cache.lookUp(key)).toEqual({ state: 'miss' });
    expect(memory.count).toBe(0);
  });

  test('keeps answers from being stored that were requested before it', () => {
    const { cache, memory, redis, purges } = cacheAt();
    purges.applyBans = gone;
    expect(cache.set(ENTRY)).toEqual({ outcome: 'purged' });
    expect([memory.count, redis.kept.size]).toEqual([0, 0]);
  });

  test('that covers the copy in Redis leaves the later one in memory', async () => {
    const { cache, redis, purges } = cacheAt();
    const younger = anEntry({ askedAt: ASKED_AT + 1 });
    cache.set(younger);
    redis.kept.set(key, ENTRY);
    purges.applyBans = (entry) => (entry.askedAt > ASKED_AT ? entry : undefined);
    expect(await cache.lookUp(key)).toEqual({ state: 'fresh', entry: younger, tier: 'memory' });
  });

  test('that may be unknown here keeps entries in Redis from being used', async () => {
    const { cache, redis, purges } = cacheAt();
    redis.kept.set(key, ENTRY);
    purges.isCurrent = false;
    expect(await cache.lookUp(key)).toEqual({ state: 'miss' });
    purges.isCurrent = true;
    expect(await cache.lookUp(key)).toMatchObject({ state: 'fresh', tier: 'redis' });
  });

  test('of all that becomes known during a read from Redis makes that read unused', async () => {
    const { cache, redis, purges } = cacheAt();
    redis.kept.set(key, ENTRY);
    const { promise, resolve } = Promise.withResolvers<void>();
    redis.hold = promise;
    purges.isCurrent = false;
    const found = cache.lookUp(key);
    purges.isCurrent = true;
    resolve();
    expect(await found).toEqual({ state: 'miss' });
  });

  test('that is soft lets a later answer replace the one in Redis', async () => {
    const { cache, clock, redis, purges } = cacheAt();
    const newer = anEntry({
      askedAt: ASKED_AT + 2,
      completeness: { rank: 2, members: Buffer.alloc(0), tentative: Buffer.alloc(0) },
    });
    purges.purgedUntil = () => ASKED_AT + 1;
    clock.now = ASKED_AT + 2;
    cache.set(newer);
    // More complete, and its place was not taken: a write failed, or an instance that knows nothing of the purge wrote it.
    redis.kept.set(key, ENTRY);
    clock.now += newer.memoryTtl;
    expect(await cache.lookUp(key)).toMatchObject({ entry: newer, tier: 'memory' });
    expect(cache.lookForFallback(key)).toMatchObject({ entry: newer });
  });

  test('that is soft leaves a stale copy, for which Redis is not asked', async () => {
    const { cache, clock, purges } = cacheAt();
    cache.set(ENTRY);
    clock.now = ASKED_AT + 1;
    purges.applyBans = (entry) => ({ ...entry, freshUntil: ASKED_AT, staleWhileRevalidateUntil: ASKED_AT + 10_000 });
    expect(cache.lookInMemory(key)).toMatchObject({ state: 'stale-while-revalidate', tier: 'memory' });
  });
});
