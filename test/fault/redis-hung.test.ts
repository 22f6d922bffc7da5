import { expect, test } from 'vitest';
import { anEntry } from '../support/entry.ts';
import { ObservedRedisTier } from '../support/observed-redis-tier.ts';
import { startRedis } from '../support/redis-server.ts';

const entry = () => anEntry({ askedAt: Date.now(), body: Buffer.from('{"transactions":[{"lt":"1"}]}'.repeat(1000)) });

async function lookUpsFail(observed: ObservedRedisTier, key: string, times: number): Promise<void> {
  for (let time = 0; time < times; time++) expect(await observed.tier.get(key)).toEqual({ state: 'failed' });
}

test('when Redis hangs, a few look-ups take their whole budget and all others no time, until it answers again', async () => {
  await using redis = await startRedis();
  await using observed = new ObservedRedisTier(redis.url, { breaker: { faults: 3, openMs: 60_000 } });
  const stored = entry();
  await observed.untilConnection('connected');
  await observed.untilStored(stored);

  await redis.pause();
  await lookUpsFail(observed, stored.key, 200);
  expect(observed.count('redis-read', 'failed')).toBe(3);
  expect(observed.availability('read')).toEqual([false]);
  await redis.resume();
});

test('after Redis hung it is used again by itself, over a new connection if the old one stays silent', async () => {
  await using redis = await startRedis();
  await using observed = new ObservedRedisTier(redis.url);
  const stored = entry();
  await observed.untilConnection('connected');
  await observed.untilStored(stored);

  await redis.pause();
  await lookUpsFail(observed, stored.key, 5);
  await observed.untilConnection('connected', 'disconnected');
  await lookUpsFail(observed, stored.key, 100);
  await redis.resume();
  expect(await observed.untilRead(stored.key, 'found')).toMatchObject({ state: 'found', entry: stored });
  expect(observed.availability('read')).toEqual([false, true]);
  await observed.untilConnection('connected', 'disconnected', 'connected');
});

test('a Redis that hangs at the first command is used once it answers', async () => {
  await using redis = await startRedis();
  await redis.pause();
  await using observed = new ObservedRedisTier(redis.url);
  const stored = entry();
  await lookUpsFail(observed, stored.key, 50);
  await observed.untilConnection('disconnected');
  await redis.resume();
  await observed.untilRead(stored.key, 'absent');
  expect(observed.availability('read')).toEqual([false, true]);
});

test.each([{ maxPendingWrites: 4 }, { maxPendingWriteBytes: 4 * entry().content.bytes }])(
  'writes to a hung Redis stay within %o and end by themselves, and later writes succeed',
  async (bounds) => {
    await using redis = await startRedis();
    await using observed = new ObservedRedisTier(redis.url, bounds);
    const stored = entry();
    await observed.untilConnection('connected');

    await redis.pause();
    for (let time = 0; time < 100; time++) {
      observed.tier.set(stored);
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
