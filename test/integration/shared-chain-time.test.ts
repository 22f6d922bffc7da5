import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { type GivenChainTime, shareChainTime } from '../../src/proxy/shared-chain-time.ts';
import { connectedRedis } from '../support/observed-redis-tier.ts';

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;
const LATEST = NOW + HOUR;

const redis = await connectedRedis(inject('redisUrl'), { commandTimeoutMs: 5000 });
afterAll(() => redis.close());

let key: string;

beforeEach(() => {
  key = `test:chain-time:${randomUUID()}`;
});

const shared = (budgetMs = 5000) => shareChainTime({ runScript: redis.runScript }, { key, budgetMs });

/** By default it reports no time and does not ask for the head. */
const exchange = (given: Partial<GivenChainTime> = {}) =>
  shared().exchange({ newestAt: 0, headSeenAt: 0, now: NOW, latestNewestAt: LATEST, askEveryMs: 0, ...given });

describe('instances before one indexer', () => {
  test('know no time at first', async () => {
    expect(await exchange()).toEqual({ newestAt: 0, headSeenAt: 0, mayAsk: false });
  });

  test('know the newest time that any of them reported', async () => {
    await exchange({ newestAt: NOW - 5000, headSeenAt: NOW - 9000 });
    expect(await exchange({ newestAt: NOW - 7000, headSeenAt: NOW - 1000 })).toMatchObject({
      newestAt: NOW - 5000,
      headSeenAt: NOW - 1000,
    });
    expect(await exchange()).toMatchObject({ newestAt: NOW - 5000, headSeenAt: NOW - 1000 });
  });

  test('may ask the head one at a time', async () => {
    const asks = async (now: number) => (await exchange({ now, askEveryMs: 10_000 }))?.mayAsk;
    expect(await Promise.all([asks(NOW), asks(NOW), asks(NOW + 1)])).toEqual([true, false, false]);
    expect(await asks(NOW + 9_999)).toBe(false);
    expect((await exchange({ now: NOW + 10_000 }))?.mayAsk).toBe(false);
    expect(await asks(NOW + 10_000)).toBe(true);
    expect(await asks(NOW + 10_001)).toBe(false);
  });

  test('take fractions of milliseconds, as the clock of Redis has them', async () => {
    const given = { newestAt: NOW - 0.5, headSeenAt: NOW - 0.25, now: NOW + 0.75, askEveryMs: 10_000 };
    expect(await exchange(given)).toEqual({ newestAt: NOW - 1, headSeenAt: NOW - 1, mayAsk: true });
  });

  test('forget a time that is not renewed', async () => {
    await exchange({ newestAt: NOW });
    const ttl = Number(await redis.runScript("return redis.call('PTTL', KEYS[1])", [key], []));
    expect(ttl).toBeGreaterThan(HOUR - 60_000);
    expect(ttl).toBeLessThanOrEqual(HOUR);
  });
});

describe('garbage in Redis', () => {
  const spoil = (field: string, value: string | number) =>
    redis.runScript("redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])", [key], [field, value]);

  test.each([LATEST + 1, '1e400', 'nan', 'soon', '', '-1e400'])(
    'is replaced by a reported time: %j',
    async (garbage) => {
      for (const field of ['newestAt', 'toldAt', 'askedAt']) await spoil(field, garbage);
      const given = { newestAt: NOW - 1000, headSeenAt: NOW - 2000, askEveryMs: 10_000 };
      expect(await exchange(given)).toEqual({ newestAt: NOW - 1000, headSeenAt: NOW - 2000, mayAsk: true });
      expect(await exchange()).toMatchObject({ newestAt: NOW - 1000, headSeenAt: NOW - 2000 });
    },
  );

  test('of another type is no time', async () => {
    await redis.runScript("redis.call('LPUSH', KEYS[1], 'x')", [key], []);
    expect(await exchange({ newestAt: NOW })).toBeUndefined();
  });
});

test('a Redis that does not answer in time gives no time', async () => {
  const hung = shareChainTime({ runScript: () => new Promise(() => {}) }, { key, budgetMs: 1 });
  expect(
    await hung.exchange({ newestAt: 0, headSeenAt: 0, now: NOW, latestNewestAt: LATEST, askEveryMs: 1 }),
  ).toBeUndefined();
  const failing = shareChainTime({ runScript: () => Promise.reject(new Error('away')) }, { key, budgetMs: 5000 });
  expect(
    await failing.exchange({ newestAt: 0, headSeenAt: 0, now: NOW, latestNewestAt: LATEST, askEveryMs: 1 }),
  ).toBeUndefined();
});
