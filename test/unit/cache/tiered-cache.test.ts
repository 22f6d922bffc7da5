import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Entry } from '../../../src/cache/entry.ts';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import type { RedisTier } from '../../../src/cache/redis-tier.ts';
import { foundIn, TieredCache, type TieredCacheDependencies } from '../../../src/cache/tiered-cache.ts';
import type { ProofDoubt } from '../../../src/freshness.ts';
import { anEntry, aProof, NOTHING_PURGED } from '../../support/entry.ts';

const none = Buffer.alloc(0);
const MISS = { state: 'miss' };
const ranked = (rank: number) => ({ rank, members: none, tentative: none });

const META = { retention: { afterUse: 10_000, sinceGiven: 60_000 } };
const LIVE = { freshUntil: 1400, lifetime: 400, staleWhileRevalidate: 0, staleIfError: 0 };

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

/** A Redis of which only this is used. */
const redisOf = (part: object) => part as unknown as RedisTier;

test.each([true, false])(
  'an answer is written to Redis only while all purges and the time of Redis are known: %s',
  (isCurrent) => {
    const set = vi.fn(() => undefined);
    const cache = cacheAt({ now: 1000 }, { redis: redisOf({ set }), purges: { ...NOTHING_PURGED, isCurrent } });
    const lease = { token: '', endsWith: vi.fn() };
    expect(cache.set(anEntry({ askedAt: 1000 }), [], { lease }).outcome).toBe('stored');
    expect(set).toHaveBeenCalledTimes(isCurrent ? 1 : 0);
    expect(lease.endsWith).not.toHaveBeenCalled();
  },
);

test('an answer whose use is over when it has been read is kept only for comparison', () => {
  const cache = cacheAt({ now: 1400 });
  const full = anEntry({ ...LIVE, askedAt: 1000, meta: META });
  expect(cache.set(full, [])).toEqual({ outcome: 'expired' });
  expect(cache.lookInMemory(full.key, [])).toEqual({ state: 'miss', kept: full });
});

test('an answer without a lifetime is not fresh by a clock that is behind the one that dated it', async () => {
  const entry = anEntry({ ...LIVE, lifetime: 0, askedAt: 1000, freshUntil: 1000, meta: META });
  const cache = cacheAt({ now: 900 }, { redis: redisOf({ get: async () => ({ state: 'found', entry }) }) });
  expect(await cache.lookUp(entry.key, [])).toEqual({ state: 'miss', kept: entry });
  expect(cache.lookInMemory(entry.key, [])).toEqual({ state: 'miss', kept: entry });
});

test.each([
  [META, 'regressed'],
  [{}, 'stored'],
])(
  'an answer worse than the one in Redis is no longer served, and is compared only if it has a retention: %j',
  async (meta, outcome) => {
    const set = vi.fn(async () => 'older');
    const cache = cacheAt({ now: 1000 }, { redis: redisOf({ set }) });
    const live = { askedAt: 1000, freshUntil: 1400, lifetime: 400, meta };
    const own = anEntry({ ...live, completeness: ranked(642) });
    cache.set(own, []);
    await Promise.resolve();
    await Promise.resolve();
    expect(cache.lookInMemory(own.key, [])).toMatchObject(MISS);
    const less = anEntry({ ...live, completeness: ranked(640) });
    expect(cache.set(less, [])).toMatchObject({ outcome });
  },
);

test('an answer that blocks have proven is compared with the next one for a minute', () => {
  const clock = { now: 1000 };
  const set = vi.fn<RedisTier['set']>(() => undefined);
  const cache = cacheAt(clock, { redis: redisOf({ set }) });
  let doubt: ProofDoubt | undefined;
  const proof = aProof({ keptMs: 300_000, doubt: () => doubt });
  const ordered = (order: bigint) => ({ ...ranked(1), order });
  const newer = anEntry({ ...LIVE, askedAt: 1000, meta: META, completeness: ordered(9n), proof });
  const olderAt = (askedAt: number) =>
    anEntry({ ...LIVE, askedAt, freshUntil: askedAt + 400, meta: META, completeness: ordered(8n) });
  expect(cache.set(newer, []).outcome).toBe('stored');
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
  const set = vi.fn(() => undefined);
  const cache = cacheAt({ now: 50_000 }, { redis: redisOf({ set }) });
  const ahead = anEntry({ askedAt: 51_001, completeness: ranked(3) });
  expect(cache.set(ahead, [])).toEqual({ outcome: 'expired' });
  expect(set).not.toHaveBeenCalled();
  expect(cache.lookInMemory(ahead.key, [])).toEqual(MISS);
  const less = anEntry({ askedAt: 50_000, completeness: ranked(0) });
  expect(cache.set(less, [], { known: ahead })).toMatchObject({ outcome: 'stored' });
  expect(cache.lookInMemory(less.key, [])).toMatchObject({ state: 'fresh', entry: less });
});

describe('an answer that lacks a transaction which was seen since its request', () => {
  const outdatedFor = (staleIfError: number) => {
    const windows = { freshUntil: 1400, lifetime: 400, staleWhileRevalidate: staleIfError, staleIfError };
    return anEntry({
      ...windows,
      askedAt: 1000,
      meta: META,
      proof: aProof({ isOutdated: () => true, doubt: () => 'touched' }),
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
        redis: redisOf(redis),
        judge: async (entry) => ({ ...entry, proof }),
      },
    );
    expect((await cache.lookUp(stored.key, [])).state).toBe('miss');
    expect(cache.lookInMemory(stored.key, [])).toMatchObject({ state: 'miss', kept: { proof } });
  });
});

describe('an entry about an account in Redis', () => {
  const clock = { now: 0 };
  /** Of entries that were requested up to this. */
  let doubtful: number;
  let isBanned: boolean;
  const judge = vi.fn(async (entry: Entry): Promise<Entry> => {
    const doubt = () => (entry.askedAt <= doubtful ? 'touched' : undefined);
    return { ...entry, proof: aProof({ keptMs: 300_000, doubt }) };
  });
  const accountAt = (askedAt: number, order = 9n, more: Partial<Entry> = {}) =>
    anEntry({
      ...LIVE,
      askedAt,
      freshUntil: askedAt + 400,
      meta: META,
      completeness: { ...ranked(1), order },
      ...more,
    });
  let inRedis: Entry;
  const cacheOnRedis = (memory = new MemoryTier({ now: () => clock.now, maxSizeBytes: 1_000_000 })) =>
    cacheAt(clock, {
      memory,
      redis: redisOf({
        get: async () => ({ state: 'found', entry: inRedis }),
        acquire: async () => ({ holder: undefined, found: inRedis }),
        set: () => undefined,
      }),
      purges: { bans: { applyBans: (entry) => (isBanned ? undefined : entry) }, isCurrent: true },
      judge,
    });

  beforeEach(() => {
    clock.now = 241_000;
    doubtful = 0;
    isBanned = false;
    inRedis = accountAt(1000);
    judge.mockClear();
  });

  test('is proven like one that was loaded here, whatever its lifetime, and then in memory', async () => {
    const cache = cacheOnRedis();
    expect(await cache.lookUp(inRedis.key, [])).toMatchObject({ state: 'proven', tier: 'redis' });
    expect(cache.lookInMemory(inRedis.key, [])).toMatchObject({ state: 'proven', tier: 'memory' });
    expect(await cache.inspect(inRedis.key, [])).toMatchObject({
      memory: { state: 'proven' },
      redis: { state: 'proven' },
    });
  });

  test('is proven where the lease is taken, too', async () => {
    const request = { token: '', leaseMs: 1, budgetMs: 1 };
    expect(await cacheOnRedis().acquire(inRedis.key, [], request)).toMatchObject({ found: { state: 'proven' } });
  });

  test.each([
    ['10 s', 231_000],
    ['4 minutes', 1000],
  ])('that lacks a transaction is not read again while it is %s old, and a newer one is', async (_, askedAt) => {
    doubtful = askedAt;
    inRedis = accountAt(askedAt);
    const cache = cacheOnRedis();
    for (let poll = 0; poll < 3; poll++) expect((await cache.lookUp(inRedis.key, [])).state).toBe('miss');
    expect(judge).toHaveBeenCalledTimes(1);
    inRedis = accountAt(240_500, 10n);
    expect((await cache.lookUp(inRedis.key, [])).state).toBe('proven');
    expect(judge).toHaveBeenCalledTimes(2);
  });

  test('is not read if it is purged, and not served if the purge comes meanwhile', async () => {
    const cache = cacheOnRedis();
    judge.mockImplementationOnce(async (entry) => {
      isBanned = true;
      return { ...entry, proof: aProof({ keptMs: 300_000 }) };
    });
    expect(await cache.lookUp(inRedis.key, [])).toEqual(MISS);
    expect(await cache.lookUp(inRedis.key, [])).toEqual(MISS);
    expect(judge).toHaveBeenCalledTimes(1);
    isBanned = false;
    expect(cache.lookInMemory(inRedis.key, [])).toEqual(MISS);
  });

  test('does not replace one in memory that is proven', async () => {
    const memory = new MemoryTier({ now: () => clock.now, maxSizeBytes: 1_000_000 });
    memory.set(await judge(accountAt(200_000, 8n)));
    expect(await cacheOnRedis(memory).lookUp(inRedis.key, [])).toMatchObject({
      state: 'proven',
      entry: { askedAt: 200_000 },
    });
  });

  test('that is not proven does not replace a poorer one that is requested after its first minute', async () => {
    doubtful = 1000;
    const cache = cacheOnRedis();
    const known = foundIn(await cache.lookUp(inRedis.key, []));
    expect(known).toMatchObject({ askedAt: 1000 });
    // The database has fallen back.
    expect(cache.set(accountAt(241_000, 8n), [], { known }).outcome).toBe('stored');
  });

  test('is compared with a poorer one, and served in its place, until it is a minute old', async () => {
    doubtful = 231_000;
    inRedis = accountAt(231_000);
    const cache = cacheOnRedis();
    const known = foundIn(await cache.lookUp(inRedis.key, []));
    const olderNow = () => cache.set(accountAt(clock.now, 8n), [], { known });
    expect(olderNow()).toMatchObject({ outcome: 'regressed', kept: { askedAt: 231_000 } });
    clock.now = 290_999;
    expect(olderNow().outcome).toBe('regressed');
    clock.now = 291_000;
    expect(olderNow().outcome).toBe('stored');
  });
});
