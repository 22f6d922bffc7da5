import { describe, expect, test, vi } from 'vitest';
import { usableUntil } from '../../../src/freshness.ts';
import { anEntry } from '../../support/entry.ts';
import { ASKED_AT, CHECKSUM, cacheAt, ENTRY, key } from './fake-redis.ts';

describe('the memory TTL', () => {
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
});

describe('a caller that waits for an entry to reach Redis', () => {
  const newer = anEntry({ askedAt: ASKED_AT + 1 });
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
});
