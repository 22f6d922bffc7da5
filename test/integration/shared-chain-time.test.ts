import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { ChainTime } from '../../src/proxy/chain-time.ts';
import { mergeKnown, NOTHING_KNOWN } from '../../src/proxy/known-chain-time.ts';
import { type GivenChainTime, shareChainTime } from '../../src/proxy/shared-chain-time.ts';
import { connectedRedis } from '../support/observed-redis-tier.ts';
import { someKnownChainTime } from '../support/some-known-chain-time.ts';

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;
const LATEST = NOW + HOUR;
const FIELDS = ['newestAt', 'shownAt', 'headSeenAt', 'askedAt'];

const redis = await connectedRedis(inject('redisUrl'), { commandTimeoutMs: 5000 });
afterAll(() => redis.close());

let key: string;

beforeEach(() => {
  key = `test:chain-time:${randomUUID()}`;
});

const shared = (budgetMs = 5000) => shareChainTime({ runScript: redis.runScript }, { key, budgetMs });

/** By default it reports no time and does not ask for the head. */
const exchange = (given: Partial<GivenChainTime> = {}) =>
  shared().exchange({ ...NOTHING_KNOWN, headSeenAt: 0, now: NOW, latestNewestAt: LATEST, askEveryMs: 0, ...given });

describe('instances before one indexer', () => {
  test('know no time at first', async () => {
    expect(await exchange()).toEqual({ newestAt: 0, shownAt: 0, headSeenAt: 0, mayAsk: false });
  });

  test('know the newest time that any of them reported, and when the head was last seen', async () => {
    await exchange({ newestAt: NOW - 5000, shownAt: NOW - 9000, headSeenAt: NOW - 9000 });
    const known = { newestAt: NOW - 5000, shownAt: NOW - 9000, headSeenAt: NOW - 1000 };
    expect(await exchange({ newestAt: NOW - 7000, shownAt: NOW - 1000, headSeenAt: NOW - 1000 })).toMatchObject(known);
    expect(await exchange()).toMatchObject(known);
  });

  test('merge what they know by the rule of each instance', async () => {
    const known = someKnownChainTime(NOW);
    await fc.assert(
      fc.asyncProperty(known, known, known, async (...all) => {
        key = `test:chain-time:${randomUUID()}`;
        let expected = NOTHING_KNOWN;
        for (const given of all) {
          expected = mergeKnown(expected, given);
          expect(await exchange(given)).toEqual({ ...expected, headSeenAt: 0, mayAsk: false });
        }
      }),
    );
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
    const given = {
      newestAt: NOW - 0.5,
      shownAt: NOW - 0.1,
      headSeenAt: NOW - 0.25,
      now: NOW + 0.75,
      askEveryMs: 10_000,
    };
    expect(await exchange(given)).toEqual({ newestAt: NOW - 1, shownAt: NOW - 1, headSeenAt: NOW - 1, mayAsk: true });
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
      for (const field of FIELDS) await spoil(field, garbage);
      const known = { newestAt: NOW - 1000, shownAt: NOW - 3000, headSeenAt: NOW - 2000 };
      expect(await exchange({ ...known, askEveryMs: 10_000 })).toEqual({ ...known, mayAsk: true });
      expect(await exchange()).toMatchObject(known);
    },
  );

  test.each([
    ['newestAt', LATEST + 1],
    ['newestAt', -1],
    ['shownAt', NOW + 60_001],
    ['shownAt', 'soon'],
  ])('in one field gives way to a time that was shown hours ago: %s %s', async (field, garbage) => {
    await exchange({ newestAt: NOW, shownAt: NOW });
    await spoil(field, garbage);
    const known = { newestAt: NOW - HOUR, shownAt: NOW - HOUR };
    expect(await exchange(known)).toMatchObject(known);
    expect(await exchange()).toMatchObject(known);
  });

  test('of another type is no time', async () => {
    await redis.runScript("redis.call('LPUSH', KEYS[1], 'x')", [key], []);
    expect(await exchange({ newestAt: NOW })).toBeUndefined();
  });
});

describe('an indexer that is set back behind two instances', () => {
  let now: number;
  let behindMs: number;

  beforeEach(() => {
    now = NOW;
    behindMs = 0;
    // However slow the machine is, no wait for Redis is given up.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(() => void vi.useRealTimers());

  const instance = (skewMs = 0) =>
    new ChainTime({ askHead: async () => now - behindMs, shared: shared(), now: () => now + skewMs });

  test('is believed by both, and Redis does not bring the newer time back', async () => {
    const [one, other] = [instance(), instance()];
    expect([await one.upToDate(), await other.upToDate()]).toEqual([NOW, NOW]);
    behindMs = 3 * HOUR;
    now += 60_001;
    const newest = now - behindMs;
    expect([await one.upToDate(), await other.upToDate()]).toEqual([newest, newest]);
    expect(await exchange({ now })).toMatchObject({ newestAt: newest, shownAt: now });
    // The other one asks now, and a third one begins.
    now += 10_000;
    expect(await other.upToDate()).toBe(now - behindMs);
    expect([await one.upToDate(), await instance().upToDate()]).toEqual([now - behindMs, now - behindMs]);
  });

  test('is believed although one of them was idle and still knows the newer time', async () => {
    const [one, idle] = [instance(), instance()];
    idle.learn(NOW);
    behindMs = 3 * HOUR;
    now += 60_001;
    await one.upToDate();
    expect(idle.newestAt).toBeUndefined();
    expect(await idle.upToDate()).toBe(now - behindMs);
    expect(await exchange({ now })).toMatchObject({ newestAt: now - behindMs });
  });

  test('is not suspected while a newer replica answers one of them', async () => {
    const [one, other] = [instance(), instance()];
    behindMs = 5 * 60_000;
    for (; now < NOW + 5 * 60_000; now += 10_000) {
      one.learn(now);
      expect(await one.upToDate()).toBe(now);
      expect(await other.upToDate()).toBe(now);
    }
  });

  test.each([
    [-HOUR, 0],
    [-30_000, 0],
    [30_000, 30_000],
    [HOUR, 0],
  ])('is believed although the clock of one is off by %i ms, at most a minute later', async (skewMs, laterMs) => {
    const [one, skewed] = [instance(), instance(skewMs)];
    for (const time of [skewed, one]) {
      time.learn(NOW);
      await time.upToDate();
    }
    behindMs = 3 * HOUR;
    now += 60_001 + laterMs;
    for (const time of [one, skewed, one, skewed, one]) {
      expect(await time.upToDate()).toBeLessThan(NOW - 2 * HOUR);
      now += 10_000;
    }
  });
});

test('a Redis that does not answer in time gives no time', async () => {
  const hung = shareChainTime({ runScript: () => new Promise(() => {}) }, { key, budgetMs: 1 });
  expect(
    await hung.exchange({ ...NOTHING_KNOWN, headSeenAt: 0, now: NOW, latestNewestAt: LATEST, askEveryMs: 1 }),
  ).toBeUndefined();
  const failing = shareChainTime({ runScript: () => Promise.reject(new Error('away')) }, { key, budgetMs: 5000 });
  expect(
    await failing.exchange({ ...NOTHING_KNOWN, headSeenAt: 0, now: NOW, latestNewestAt: LATEST, askEveryMs: 1 }),
  ).toBeUndefined();
});
