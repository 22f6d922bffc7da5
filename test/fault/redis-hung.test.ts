import { expect, test } from 'vitest';
import { anEntry } from '../support/entry.ts';
import { ObservedRedisTier } from '../support/observed-redis-tier.ts';
import { startRedis } from '../support/redis-server.ts';

test.each([
  ['small', 2, 4 * 64 * 1024, 4],
  ['large', 5000, 4 * 5000 * 29, 4],
  ['too large', 5000, 5000 * 29 - 1, 1],
])(
  '%s writes to a hung Redis stay within the bound, or are single, and end by themselves, and later ones succeed',
  async (_, rows, maxPendingWriteBytes, most) => {
    await using redis = await startRedis();
    await using observed = new ObservedRedisTier(redis.url, { maxPendingWriteBytes });
    const stored = anEntry({ askedAt: Date.now(), body: Buffer.from('{"transactions":[{"lt":"1"}]}'.repeat(rows)) });
    await observed.untilConnection('connected');

    await redis.pause();
    for (let time = 0; time < 100; time++) {
      void observed.tier.set(stored);
      expect(observed.tier.pendingWrites).toBeLessThanOrEqual(most);
    }
    expect(observed.count('redis-write', 'dropped')).toBe(100 - most);
    await observed.tier.idle();
    expect(observed.count('redis-write', 'failed')).toBe(most);
    await redis.resume();
    await observed.untilStored(stored);
    expect(observed.availability('write')).toEqual([false, true]);
  },
);
