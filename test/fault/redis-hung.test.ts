import { expect, test } from 'vitest';
import { anEntry } from '../support/entry.ts';
import { ObservedRedisTier } from '../support/observed-redis-tier.ts';
import { startRedis } from '../support/redis-server.ts';

test.each([
  ['small', 2, 4 * 64 * 1024],
  ['large', 5000, 4 * 5000 * 29],
])(
  '%s writes to a hung Redis stay within the bound and end by themselves, and later writes succeed',
  async (_, rows, maxPendingWriteBytes) => {
    await using redis = await startRedis();
    await using observed = new ObservedRedisTier(redis.url, { maxPendingWriteBytes });
    const stored = anEntry({ askedAt: Date.now(), body: Buffer.from('{"transactions":[{"lt":"1"}]}'.repeat(rows)) });
    await observed.untilConnection('connected');

    await redis.pause();
    for (let time = 0; time < 100; time++) {
      void observed.tier.set(stored);
      expect(observed.tier.pendingWrites).toBeLessThanOrEqual(4);
    }
    expect(observed.count('redis-write', 'dropped')).toBe(96);
    await observed.tier.idle();
    expect(observed.count('redis-write', 'failed')).toBe(4);
    await redis.resume();
    await observed.untilStored(stored);
    expect(observed.availability('write')).toEqual([false, true]);
  },
);
