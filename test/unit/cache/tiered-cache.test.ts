import { describe, expect, test, vi } from 'vitest';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import type { RedisTier } from '../../../src/cache/redis-tier.ts';
import { TieredCache, type TieredCacheDependencies } from '../../../src/cache/tiered-cache.ts';
import type { ProofDoubt } from '../../../src/freshness.ts';
import { anEntry, aProof, NOTHING_PURGED } from '../../support/entry.ts';

const none = Buffer.alloc(0);
const ranked = (rank: number) => ({ rank, members: none, tentative: none });

test.each([true, false])(
  'an answer is written to Redis only while all purges and the time of Redis are known: %s',
  (isCurrent) => {
    const now = () => 1000;
    const set = vi.fn(() => undefined);
    const cache = new TieredCache({
      memory: new MemoryTier({ now, maxSizeBytes: 1_000_000 }),
      // The cast: a store uses only `set`.
      redis: { set } as unknown as RedisTier,
      purges: { ...NOTHING_PURGED, isCurrent },
      hasReached: () => false,
      olderAnswers: { look: () => {} },
      now,
    });
    const lease = { token: '', endsWith: vi.fn() };
    expect(cache.set(anEntry({ askedAt: now() }), [], { lease }).outcome).toBe('stored');
    expect(set).toHaveBeenCalledTimes(isCurrent ? 1 : 0);
    expect(lease.endsWith).not.toHaveBeenCalled();
  },
);

test('an answer whose use is over when it has been read is kept only for comparison', () => {
  const clock = { now: 1000 };
  const now = () => clock.now;
  const cache = new TieredCache({
    memory: new MemoryTier({ now, maxSizeBytes: 1_000_000 }),
    redis: undefined,
    purges: NOTHING_PURGED,
    hasReached: () => false,
    olderAnswers: { look: () => {} },
    now,
  });
  const windows = { freshUntil: 1400, lifetime: 400, staleWhileRevalidate: 0, staleIfError: 0 };
  const meta = { retention: { afterUse: 10_000, sinceGiven: 60_000 } };
  const full = anEntry({ ...windows, askedAt: 1000, meta, completeness: ranked(1) });
  clock.now = 1400;
  expect(cache.set(full, [])).toEqual({ outcome: 'expired' });
  expect(cache.lookInMemory(full.key, [])).toEqual({ state: 'miss', kept: full });
  const less = anEntry({ ...windows, askedAt: 1400, completeness: ranked(0) });
  expect(cache.set(less, [])).toMatchObject({ outcome: 'regressed', kept: { askedAt: 1000, freshUntil: 1800 } });
  expect(cache.lookInMemory(full.key, [])).toMatchObject({ state: 'fresh' });
});

test.each([
  [{ retention: { afterUse: 10_000, sinceGiven: 60_000 } }, 'regressed'],
  [{}, 'stored'],
])(
  'an answer worse than the one in Redis is no longer served, and is compared only if it has a retention: %j',
  async (meta, outcome) => {
    const now = () => 1000;
    const set = vi.fn(async () => 'older');
    const cache = new TieredCache({
      memory: new MemoryTier({ now, maxSizeBytes: 1_000_000 }),
      // The cast: a store uses only `set`.
      redis: { set } as unknown as RedisTier,
      purges: NOTHING_PURGED,
      hasReached: () => false,
      olderAnswers: { look: () => {} },
      now,
    });
    const own = anEntry({ askedAt: 1000, freshUntil: 1400, lifetime: 400, meta, completeness: ranked(642) });
    cache.set(own, []);
    await Promise.resolve();
    await Promise.resolve();
    expect(cache.lookInMemory(own.key, [])).toMatchObject({ state: 'miss' });
    const less = anEntry({ askedAt: 1000, freshUntil: 1400, lifetime: 400, meta, completeness: ranked(640) });
    expect(cache.set(less, [])).toMatchObject({ outcome });
  },
);

test('an answer that blocks have proven is compared with the next one for a minute, and Redis gets no proof', () => {
  const clock = { now: 1000 };
  const now = () => clock.now;
  const set = vi.fn<RedisTier['set']>(() => undefined);
  const cache = new TieredCache({
    memory: new MemoryTier({ now, maxSizeBytes: 1_000_000 }),
    // The cast: a store uses only `set`.
    redis: { set } as unknown as RedisTier,
    purges: NOTHING_PURGED,
    hasReached: () => false,
    olderAnswers: { look: () => {} },
    now,
  });
  const live = { lifetime: 400, staleWhileRevalidate: 0, staleIfError: 0 };
  const meta = { retention: { afterUse: 10_000, sinceGiven: 60_000 } };
  const ordered = (order: bigint) => ({ ...ranked(1), order });
  let doubt: ProofDoubt | undefined;
  const proof = aProof({ keptMs: 300_000, doubt: () => doubt });
  const newer = anEntry({ ...live, askedAt: 1000, freshUntil: 1400, meta, completeness: ordered(9n), proof });
  const olderAt = (askedAt: number) =>
    anEntry({ ...live, askedAt, freshUntil: askedAt + 400, meta, completeness: ordered(8n) });
  expect(cache.set(newer, []).outcome).toBe('stored');
  expect(set.mock.lastCall?.[0].proof).toBe(undefined);
  expect(cache.lookInMemory(newer.key, [])).toMatchObject({ state: 'fresh' });
  clock.now = 50_000;
  expect(cache.lookInMemory(newer.key, [])).toMatchObject({ state: 'proven', tier: 'memory' });
  doubt = 'touched';
  expect(cache.lookInMemory(newer.key, [])).toEqual({ state: 'miss', kept: newer });
  expect(cache.set(olderAt(50_000), [])).toMatchObject({ outcome: 'regressed', kept: { askedAt: 1000 } });
  clock.now = 61_000;
  expect(cache.set(olderAt(61_000), []).outcome).toBe('stored');
});

test('an answer that is dated more than 1 s ahead is served to its client, but is neither stored nor compared', () => {
  const clock = { now: 50_000 };
  const now = () => clock.now;
  const set = vi.fn(() => undefined);
  const cache = new TieredCache({
    memory: new MemoryTier({ now, maxSizeBytes: 1_000_000 }),
    // The cast: a store uses only `set`.
    redis: { set } as unknown as RedisTier,
    purges: NOTHING_PURGED,
    hasReached: () => false,
    olderAnswers: { look: () => {} },
    now,
  });
  const ahead = anEntry({ askedAt: now() + 1001, completeness: ranked(3) });
  expect(cache.set(ahead, [])).toEqual({ outcome: 'expired' });
  expect(set).not.toHaveBeenCalled();
  expect(cache.lookInMemory(ahead.key, [])).toEqual({ state: 'miss' });
  const less = anEntry({ askedAt: now(), completeness: ranked(0) });
  expect(cache.set(less, [], { known: ahead })).toMatchObject({ outcome: 'stored' });
  expect(cache.lookInMemory(less.key, [])).toMatchObject({ state: 'fresh', entry: less });
});

describe('an answer that lacks a transaction which was seen since its request', () => {
  const META = { retention: { afterUse: 10_000, sinceGiven: 60_000 } };
  const outdatedFor = (staleIfError: number) => {
    const windows = { freshUntil: 1400, lifetime: 400, staleWhileRevalidate: staleIfError, staleIfError };
    return anEntry({
      ...windows,
      askedAt: 1000,
      meta: META,
      proof: aProof({ isOutdated: () => true, doubt: () => 'touched' }),
    });
  };
  const cacheAt = (clock: { readonly now: number }, more: Partial<TieredCacheDependencies> = {}) => {
    const now = () => clock.now;
    return new TieredCache({
      memory: new MemoryTier({ now, maxSizeBytes: 1_000_000 }),
      redis: undefined,
      purges: NOTHING_PURGED,
      hasReached: () => false,
      olderAnswers: { look: () => {} },
      now,
      ...more,
    });
  };

  test('is a miss within its lifetime, and compared with the next answer', () => {
    const cache = cacheAt({ now: 1000 });
    const outdated = outdatedFor(0);
    cache.set(outdated, []);
    expect(cache.lookInMemory(outdated.key, [])).toEqual({ state: 'miss', kept: outdated });
  });

  test('answers only if the indexer fails, for as long as any answer of its kind', () => {
    const clock = { now: 1000 };
    const cache = cacheAt(clock);
    const outdated = outdatedFor(2000);
    cache.set(outdated, []);
    for (const now of [1000, 1400, 3399]) {
      clock.now = now;
      expect(cache.lookInMemory(outdated.key, []).state).toBe('stale-if-error');
    }
    clock.now = 3400;
    expect(cache.lookInMemory(outdated.key, []).state).toBe('miss');
  });

  test('is a miss in Redis, too: entries are judged before they are kept or served', async () => {
    const { proof, ...stored } = outdatedFor(0);
    const redis = { get: async () => ({ state: 'found', entry: { ...stored, proof: undefined } }) };
    const cache = cacheAt(
      { now: 1000 },
      {
        // The cast: a look-up uses only `get`.
        redis: redis as unknown as RedisTier,
        judge: async (entry) => ({ ...entry, proof }),
      },
    );
    expect((await cache.lookUp(stored.key, [])).state).toBe('miss');
    expect(cache.lookInMemory(stored.key, [])).toMatchObject({ state: 'miss', kept: { proof } });
  });
});
