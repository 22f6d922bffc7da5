import { describe, expect, test, vi } from 'vitest';
import { usableUntil } from '../../../src/instants.ts';
import { anEntry } from '../../support/entry.ts';
import { ASKED_AT, CHECKSUM, cacheAt, ENTRY, key, RETRY_MS } from './fake-redis.ts';

describe('an entry that is no longer in Redis', () => {
  test('is served from memory while it is fresh, and asked for again only after a while', async () => {
    const { cache, clock, redis } = cacheAt();
    cache.set(ENTRY);
    redis.kept.clear();
    clock.now = ASKED_AT + ENTRY.memoryTtl;
    expect(await cache.lookUp(key)).toMatchObject({ state: 'fresh', tier: 'memory' });
    expect(cache.lookInMemory(key)).toMatchObject({ state: 'fresh' });
    clock.now += RETRY_MS;
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
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

describe('a caller that waits for an entry to reach Redis', () => {
  const newer = anEntry({ askedAt: ASKED_AT + 1 });
  const lessComplete = anEntry({
    askedAt: ASKED_AT + 2,
    completeness: { rank: 0, members: Buffer.alloc(0), tentative: Buffer.alloc(0) },
  });

  test.each([
    ['stored', true],
    ['kept', false],
    ['unknown', false],
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

describe('an entry of which Redis kept a better one', () => {
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

describe('a copy in memory whose memory TTL has passed', () => {
  /** A cache whose memory has what Redis holds, at the instant from which Redis is asked again. */
  async function due(world = cacheAt()) {
    world.redis.givesChecksums = true;
    world.redis.kept.set(key, ENTRY);
    await world.cache.lookUp(key);
    world.clock.now = ASKED_AT + ENTRY.memoryTtl;
    return world;
  }
  const copyOfEntry = { askedAt: ASKED_AT, checksum: CHECKSUM };

  test('answers for another memory TTL if Redis still holds the same entry, whose bytes are not read again', async () => {
    const { cache, redis, clock } = await due();
    redis.isUnchanged = true;
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
    const found = await cache.lookUp(key);
    expect(found).toMatchObject({ state: 'fresh', tier: 'redis' });
    expect('entry' in found && found.entry).toBe(ENTRY);
    expect(redis.copies).toEqual([undefined, copyOfEntry]);
    expect(cache.lookInMemory(key)).toMatchObject({ state: 'fresh', tier: 'memory' });
    clock.now += ENTRY.memoryTtl;
    expect(cache.lookInMemory(key)).toEqual({ state: 'miss' });
    await cache.lookUp(key);
    expect(redis.copies.at(-1)).toEqual(copyOfEntry);
  });

  test('is replaced by another entry that Redis holds now', async () => {
    const { cache, redis } = await due();
    const newer = anEntry({ askedAt: ASKED_AT + 1 });
    redis.kept.set(key, newer);
    expect(await cache.lookUp(key)).toMatchObject({ entry: newer, tier: 'redis' });
  });

  test('is a miss after a purge that covers it, though Redis still holds it', async () => {
    const { cache, redis, purges } = await due();
    redis.isUnchanged = true;
    purges.applyBans = () => undefined;
    purges.purgedUntil = () => ASKED_AT;
    expect(await cache.lookUp(key)).toMatchObject({ state: 'miss' });
  });

  test('is compared with Redis also if this instance stored the entry, as soon as Redis has accepted it', async () => {
    const { cache, redis, clock } = cacheAt();
    cache.set(ENTRY);
    clock.now = ASKED_AT + ENTRY.memoryTtl;
    await cache.lookUp(key);
    cache.set(ENTRY);
    redis.onEnd?.('stored', CHECKSUM);
    clock.now += ENTRY.memoryTtl;
    redis.isUnchanged = true;
    await cache.lookUp(key);
    expect(redis.copies.at(-1)).toEqual(copyOfEntry);
  });

  test('is not compared as an older entry whose store ended after memory got this one', async () => {
    const { cache, redis, clock } = cacheAt();
    cache.set(ENTRY);
    const { onEnd } = redis;
    clock.now++;
    const newer = anEntry({ askedAt: ASKED_AT + 1 });
    cache.set(newer);
    onEnd?.('stored', CHECKSUM);
    clock.now += newer.memoryTtl;
    await cache.lookUp(key);
    expect(redis.copies).toEqual([undefined]);
  });

  test('is not compared once it is stale: Redis will hold a newer entry', async () => {
    const { cache, redis, clock } = await due();
    clock.now = ENTRY.freshUntil;
    await cache.lookUp(key);
    expect(redis.copies.at(-1)).toBeUndefined();
  });
});
