import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Acquisition, RedisLease } from '../../../src/coalescing/redis-lease.ts';
import { BUDGET_MS, leasesOn, never, ScriptedRedis, STAMP } from './scripted-redis.ts';

const REDIS_KEY = 'toncache:{key}';

let redis: ScriptedRedis;
let leases: RedisLease;

beforeEach(() => {
  vi.useFakeTimers();
  redis = new ScriptedRedis();
  leases = leasesOn(redis);
});
afterEach(() => vi.useRealTimers());

const acquire = (isFirst = true) => leases.acquire('key', { stamp: STAMP, budgetMs: BUDGET_MS, isFirst });

async function taken(): Promise<Acquisition & { state: 'taken' }> {
  const acquired = await acquire();
  if (acquired.state !== 'taken') throw new Error(`it is ${acquired.state}`);
  return acquired;
}

describe('an instance that waits for the load of another', () => {
  test.each([
    ['changed', { state: 'changed' }],
    ['free', { state: 'free' }],
    ['failed {"code":"upstream-error"}', { state: 'failed', failure: '{"code":"upstream-error"}' }],
    ['failed two words and\na line', { state: 'failed', failure: 'two words and\na line' }],
  ])('is woken by a message, without polling Redis: %j', async (word, landing) => {
    const landed = (await taken()).landed();
    redis.send(`${REDIS_KEY} ${word}`);
    expect(await landed).toEqual(landing);
    expect(redis.calls).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('does not miss a message that comes before the reply to its acquisition', async () => {
    redis.replies.push(() => {
      redis.send(`${REDIS_KEY} changed`);
      return ['taken'];
    });
    expect(await (await taken()).landed()).toEqual({ state: 'changed' });
    expect(redis.calls).toHaveLength(1);
  });

  test('wakes together with all other waiters of its process', async () => {
    const landings = [(await taken()).landed(), (await taken()).landed()];
    redis.send(`${REDIS_KEY} changed`);
    expect(await Promise.all(landings)).toEqual([{ state: 'changed' }, { state: 'changed' }]);
  });

  test.each([
    '',
    'changed',
    REDIS_KEY,
    `${REDIS_KEY} `,
    `${REDIS_KEY}changed`,
    `${REDIS_KEY} change`,
    `${REDIS_KEY} CHANGED`,
    `${REDIS_KEY} changed\n`,
    `${REDIS_KEY} freed`,
    `toncache:{other} changed`,
    `x ${REDIS_KEY} changed`,
    '\0\xff',
  ])('keeps waiting at a message that is not for it: %j', async (message) => {
    let woken = false;
    void (await taken()).landed().then(() => {
      woken = true;
    });
    redis.send(message);
    await vi.advanceTimersByTimeAsync(24);
    expect(woken).toBe(false);
  });

  test('polls after 25, 50 and then every 100 ms, because messages can be lost', async () => {
    const landed = (await taken()).landed();
    await vi.advanceTimersByTimeAsync(400);
    expect(redis.pollsAt).toEqual([25, 75, 175, 275, 375]);
    redis.otherwise = () => ['changed'];
    await vi.advanceTimersByTimeAsync(100);
    expect(await landed).toMatchObject({ state: 'changed' });
  });

  test.each([
    ['that fails', () => Promise.reject(new Error('lost'))],
    ['whose reply is garbage', () => 'garbage'],
    ['whose reply is nothing', () => undefined],
  ])('stops waiting at the first poll %s', async (_, reply) => {
    const landed = (await taken()).landed();
    redis.otherwise = reply;
    await vi.advanceTimersByTimeAsync(25);
    expect(await landed).toEqual({ state: 'unavailable' });
    expect(redis.pollsAt).toEqual([25]);
  });

  test('stops waiting at the first poll that takes longer than its budget', async () => {
    const landed = (await taken()).landed();
    redis.otherwise = never;
    await vi.advanceTimersByTimeAsync(25 + BUDGET_MS - 1);
    let ended = false;
    void landed.then(() => {
      ended = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(ended).toBe(false);
    // Fake turns of the event loop take a millisecond: one before the budget counts, and one after it.
    await vi.advanceTimersByTimeAsync(3);
    expect(await landed).toEqual({ state: 'unavailable' });
    expect(redis.pollsAt).toEqual([25]);
  });

  test('is forgotten when it was woken, and when its last client left', async () => {
    const landed = (await taken()).landed();
    redis.send(`${REDIS_KEY} changed`);
    await landed;
    // A message that was meant for the wait before does not end the next one.
    redis.send(`${REDIS_KEY} free`);
    const next = (await taken()).landed();
    let woken = false;
    void next.then(() => {
      woken = true;
    });
    await vi.advanceTimersByTimeAsync(24);
    expect(woken).toBe(false);
  });
});
