import { describe, expect, test } from 'vitest';
import { anEntry } from '../../support/entry.ts';
import { ASKED_AT, cacheAt, ENTRY, key } from './fake-redis.ts';

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
