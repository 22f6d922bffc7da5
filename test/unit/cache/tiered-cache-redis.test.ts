import { describe, expect, test, vi } from 'vitest';
import { usableUntil } from '../../../src/instants.ts';
import { anEntry } from '../../support/entry.ts';
import { ASKED_AT, cacheAt, ENTRY, key, RETRY_MS } from './fake-redis.ts';

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

describe('a caller that waits for an entry to reach Redis', () => {
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
