import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SharedHeads } from '../../../src/proof/shared-heads.ts';
import { RedisOfHeads } from '../../support/redis-of-heads.ts';

let redis: RedisOfHeads;
let isClockShared: boolean;
/** By this the clock of the instance is ahead of the other one's. */
let aheadMs: number;
let heads: SharedHeads;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  redis = new RedisOfHeads();
  isClockShared = true;
  aheadMs = 0;
  heads = openHeads();
});
afterEach(() => void vi.useRealTimers());

function openHeads(): SharedHeads {
  return new SharedHeads({
    redis,
    redisKey: 'key',
    isClockShared: () => isClockShared,
    budgetMs: 100,
    now: () => Date.now() + aheadMs,
    monotonic: () => Date.now() - 900_000,
  });
}

const NOT_TAKEN = { token: undefined };
const A_TURN = { token: expect.any(String) };
const headAt = (askedAt: number, seqno = 7) => ({ seqno, askedAt, indexer: 'a:1' });

/** The result of a look; passes the time while it waits. */
async function next(from = heads): Promise<object> {
  const result = from.next();
  let isOver = false;
  void result.finally(() => (isOver = true));
  while (!isOver) await vi.advanceTimersByTimeAsync(1);
  return result;
}

describe('a head that another instance has shared', () => {
  test.each([0, 300])('is taken while its request is at most 300 ms old: %i ms', async (ageMs) => {
    redis.put(headAt(Date.now() - ageMs));
    const askedAt = Date.now() - 900_000 - ageMs;
    expect(await next()).toEqual({ seqno: 7, askedAt, indexer: 'a:1', isShared: true });
    expect(redis.hasLease).toBe(false);
  });

  test('is not taken once it is older, and never again', async () => {
    redis.put(headAt(Date.now() - 301));
    expect(await next()).toEqual(A_TURN);
    aheadMs = -200;
    expect(await next()).toEqual(NOT_TAKEN);
  });

  test('has a mark that is not later than its first sight, by whatever clock', async () => {
    redis.put(headAt(Date.now() + 10));
    const seenAt = Date.now() - 900_000;
    expect(await next()).toMatchObject({ askedAt: seenAt });
  });

  test('is ignored if it is dated ahead by more than 10 ms, also later, when it looks young', async () => {
    redis.put(headAt(Date.now() + 200));
    expect(await next()).toEqual(A_TURN);
    await vi.advanceTimersByTimeAsync(250);
    expect(await next()).not.toHaveProperty('seqno');
  });

  test('is taken once: the same low head twice would mean that the database fell back', async () => {
    redis.put(headAt(Date.now() - 10));
    expect(await next()).toHaveProperty('seqno');
    expect(await next()).toEqual(A_TURN);
  });

  test.each([
    ['another one', (askedAt: number) => redis.put(headAt(askedAt))],
    ['an own one', (askedAt: number) => heads.share(NOT_TAKEN, headAt(askedAt), 50)],
  ])('is ignored if it is older than %s, as after a failover of Redis', async (_, see) => {
    see(Date.now() - 100);
    await next();
    await vi.advanceTimersByTimeAsync(100);
    redis.copy = JSON.stringify(headAt(Date.now() - 250));
    expect(await next()).not.toHaveProperty('seqno');
    redis.copy = JSON.stringify(headAt(Date.now() - 150));
    expect(await next()).toHaveProperty('seqno');
  });

  test('is taken again after the clock was set back', async () => {
    heads.share(NOT_TAKEN, headAt(Date.now()), 50);
    aheadMs = -3_600_000;
    redis.put(headAt(Date.now() + aheadMs));
    expect(await next()).toHaveProperty('seqno');
  });

  test.each(['', 'null', '{}', '{"seqno":"7","askedAt":1000000,"indexer":""}'])(
    'is ignored if it is %j',
    async (copy) => {
      redis.copy = copy;
      expect(await next()).toEqual(A_TURN);
    },
  );
});

describe('the poll', () => {
  test('has a lease: others wait for its head', async () => {
    const turn = await heads.next();
    const other = openHeads();
    const waiting = other.next();
    await vi.advanceTimersByTimeAsync(100);
    if ('token' in turn) heads.share(turn, headAt(Date.now() - 100), 100);
    await vi.advanceTimersByTimeAsync(50);
    expect(await waiting).toMatchObject({ seqno: 7, isShared: true });
    expect(redis.hasLease).toBe(false);
  });

  test('is taken over at once if it yields no head', async () => {
    const turn = await heads.next();
    const waiting = openHeads().next();
    await vi.advanceTimersByTimeAsync(10);
    if ('token' in turn) heads.end(turn);
    await vi.advanceTimersByTimeAsync(50);
    expect(await waiting).toEqual(A_TURN);
  });

  test('is sent by itself by an instance that has waited 300 ms for another one, and its head is not shared', async () => {
    redis.takeLease(10_000);
    const startedAt = Date.now();
    expect(await next()).toEqual(NOT_TAKEN);
    expect(Date.now() - startedAt).toBeLessThanOrEqual(330);
    heads.share(NOT_TAKEN, headAt(Date.now()), 50);
    await vi.advanceTimersByTimeAsync(1);
    expect(redis.head).toBe(undefined);
  });

  test('has a lease of at most 300 ms: an instance that stops with it costs no more', async () => {
    expect(await next()).toEqual(A_TURN);
    await vi.advanceTimersByTimeAsync(298);
    expect(redis.hasLease).toBe(true);
    await vi.advanceTimersByTimeAsync(2);
    expect(redis.hasLease).toBe(false);
  });

  test.each([
    [250, true],
    [251, false],
  ])('looks into Redis only if the last one took at most 250 ms: %i ms', async (tookMs, looks) => {
    heads.share(NOT_TAKEN, headAt(Date.now()), tookMs);
    await next();
    expect(redis.calls > 0).toBe(looks);
  });

  test('is neither shared nor taken while the clock is not shared', async () => {
    redis.put(headAt(Date.now()));
    isClockShared = false;
    expect(await next()).toEqual(NOT_TAKEN);
    expect(redis.calls).toBe(0);
    isClockShared = true;
    const old = headAt(Date.now() - 1000);
    redis.put(old);
    const turn = await next();
    isClockShared = false;
    heads.share(turn as { token: string }, headAt(Date.now()), 50);
    await vi.advanceTimersByTimeAsync(1);
    expect([redis.head, redis.hasLease]).toEqual([old, false]);
  });

  test.each([
    ['is down', () => (redis.isDown = true)],
    ['is slow', () => (redis.delayMs = 1000)],
  ])('is sent by itself if Redis %s', async (_, fail) => {
    fail();
    redis.put(headAt(Date.now()));
    expect(await next()).toEqual(NOT_TAKEN);
    heads.share({ token: 'own' }, headAt(Date.now()), 50);
    heads.end({ token: 'own' });
    await vi.advanceTimersByTimeAsync(1000);
  });
});
