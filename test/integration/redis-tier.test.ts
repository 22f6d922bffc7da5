import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
import { connectedRedis } from '../support/connected-redis.ts';
import { anEntry, aProof } from '../support/entry.ts';
import { ObservedRedisTier } from '../support/observed-redis-tier.ts';
import { startRedis } from '../support/redis-server.ts';

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

test('Redis has an entry for as long as it may be proven, without its proof, and compares it for a minute', async () => {
  const redisKey = (key: string) => `test:proven:${performance.timeOrigin}:${key}`;
  const clock = { now: Date.now() };
  await using observed = new ObservedRedisTier(url, { redisKey, now: () => clock.now, provableMs: () => 300_000 });
  await observed.untilConnection('connected');
  const meta = { retention: { afterUse: 10_000, sinceGiven: 60_000 } };
  const live = { freshUntil: clock.now + 400, lifetime: 400, staleWhileRevalidate: 0, staleIfError: 0, meta };
  const none = Buffer.alloc(0);
  const ordered = (order: bigint) => ({ rank: 1, order, members: none, tentative: none });
  const stored = anEntry({
    ...live,
    askedAt: clock.now,
    completeness: ordered(9n),
    proof: aProof({ keptMs: 300_000 }),
  });
  expect(await observed.tier.set(stored)).toBe('stored');
  expect(await redis.pttl(redisKey(stored.key))).toBeGreaterThan(290_000);
  const older = (askedAt: number) =>
    observed.tier.set({ ...stored, askedAt, freshUntil: askedAt + 400, completeness: ordered(8n) });
  clock.now += 59_999;
  expect(await older(clock.now)).toBe('regressed');
  clock.now += 240_000;
  expect(await observed.tier.get(stored.key)).toMatchObject({
    state: 'found',
    entry: { askedAt: stored.askedAt, proof: undefined },
  });
  expect(await older(clock.now)).toBe('stored');
  clock.now += 300_000;
  expect(await observed.tier.get(stored.key)).toEqual({ state: 'absent' });
});

test('a closed connection is closed at the server too', async () => {
  const connection = await connectedRedis(`${url}/7`);
  const clients = async () =>
    ((await redis.client('LIST')) as string).split('\n').filter((line) => /\bdb=7\b/.test(line));
  expect(await clients()).toHaveLength(1);
  await connection.close();
  expect(await clients()).toHaveLength(0);
});

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
