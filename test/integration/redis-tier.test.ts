import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
import { connectedRedis } from '../support/connected-redis.ts';
import { anEntry } from '../support/entry.ts';
import { ObservedRedisTier } from '../support/observed-redis-tier.ts';

const url = inject('redisUrl');
const redis = new Redis(url);
afterAll(() => redis.disconnect());

test('a stalled event loop is not taken for a slow Redis', async () => {
  const stored = anEntry({ askedAt: Date.now() });
  await using observed = new ObservedRedisTier(url, { budgetMs: 50 });
  await observed.untilConnection('connected');
  await observed.tier.set(stored);
  const reads = Array.from({ length: 10 }, () => observed.tier.get(stored.key));
  // Redis answers into the socket during this, and every budget has ended before the loop turns again.
  for (const stallEndsAt = performance.now() + 200; performance.now() < stallEndsAt; );
  expect(await Promise.all(reads)).toMatchObject(reads.map(() => ({ state: 'found', entry: stored })));
});

test('Redis holds an entry as long as it is kept', async () => {
  const redisKey = (key: string) => `test:kept:${performance.timeOrigin}:${key}`;
  await using observed = new ObservedRedisTier(url, { redisKey });
  await observed.untilConnection('connected');
  const ttlOf = async (key: string, meta: object) => {
    await observed.tier.set(anEntry({ key, askedAt: Date.now(), meta }));
    return redis.pttl(redisKey(key));
  };
  expect(await ttlOf('a', { retention: { afterUse: 3_600_000, sinceGiven: 7_200_000 } })).toBeGreaterThan(3_600_000);
  expect(await ttlOf('b', {})).toBeLessThanOrEqual(120_000);
});

test('a closed connection is closed at the server too', async () => {
  const connection = await connectedRedis(`${url}/7`);
  const clients = async () =>
    ((await redis.client('LIST')) as string).split('\n').filter((line) => /\bdb=7\b/.test(line));
  expect(await clients()).toHaveLength(1);
  await connection.close();
  expect(await clients()).toHaveLength(0);
});
