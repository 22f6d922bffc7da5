import { describe, expect, test } from 'vitest';
import { usableUntil } from '../../../src/instants.ts';
import { anEntry } from '../../support/entry.ts';
import { ASKED_AT, cacheAt, ENTRY, key } from './fake-redis.ts';

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

  test('is ignored when Redis is not configured', async () => {
    const { cacheOfMemory: cache, clock } = cacheAt();
    cache.set(ENTRY);
    clock.now = ENTRY.freshUntil - 1;
    expect(cache.lookInMemory(key)).toMatchObject({ state: 'fresh', tier: 'memory' });
    expect(await cache.lookUp(key)).toMatchObject({ state: 'fresh', tier: 'memory' });
  });
});

describe('an entry past its lifetime', () => {
  test('is stale while it may be refreshed, then only for failures, then gone', () => {
    const { cacheOfMemory: cache, clock } = cacheAt();
    cache.set(ENTRY);
    const states = [
      ENTRY.freshUntil - 1,
      ENTRY.freshUntil,
      ENTRY.freshUntil + ENTRY.staleWhileRevalidate - 1,
      ENTRY.freshUntil + ENTRY.staleWhileRevalidate,
      usableUntil(ENTRY) - 1,
      usableUntil(ENTRY),
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
