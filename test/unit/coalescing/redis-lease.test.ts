import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FAIL, RELEASE, SETTLE } from '../../../src/coalescing/lease-scripts.ts';
import type { RedisLease } from '../../../src/coalescing/redis-lease.ts';
import {
  BUDGET_MS,
  LEASE_MS,
  LONGEST_MS,
  leasesOn,
  never,
  RENEW_EVERY_MS,
  ScriptedRedis,
  STAMP,
} from './scripted-redis.ts';

let redis: ScriptedRedis;
let leases: RedisLease;

beforeEach(() => {
  vi.useFakeTimers();
  redis = new ScriptedRedis();
  leases = leasesOn(redis);
});
afterEach(() => vi.useRealTimers());

const acquire = (isFirst = true) => leases.acquire('key', { stamp: STAMP, budgetMs: BUDGET_MS, isFirst });

async function held() {
  const acquired = await acquire();
  if (acquired.state !== 'load') throw new Error(`it is ${acquired.state}`);
  return acquired.lease;
}

describe('an acquisition', () => {
  test.each([
    ['whose reply does not come', never],
    ['that is refused', () => Promise.reject(new Error('READONLY'))],
    ['whose reply is garbage', () => 17],
    ['whose reply is a word that nobody knows', () => ['what']],
  ])('%s lets the instance load by itself, and a lease that it may hold is ended with the load', async (_, reply) => {
    redis.replies.push(reply);
    const acquiring = acquire();
    await vi.advanceTimersByTimeAsync(BUDGET_MS + 1);
    const acquired = await acquiring;
    if (acquired.state !== 'load') throw new Error(`it is ${acquired.state}`);
    acquired.lease.release();
    await leases.close();
    expect(redis.ended).toEqual([[RELEASE, redis.calls[0]?.args[2]]]);
  });

  test.each([
    [true, 1000],
    [false, LONGEST_MS + LEASE_MS],
  ])('takes over a load that began too long ago only as the first of its flight (%s)', async (isFirst, ageMs) => {
    await acquire(isFirst);
    expect(redis.calls[0]?.args.at(-2)).toBe(ageMs);
  });

  test('returns a failure that is within its TTL', async () => {
    redis.replies.push(() => ['failed', 'why']);
    expect(await acquire()).toEqual({ state: 'failed', failure: 'why' });
  });

  test('has an id of its own', async () => {
    await acquire();
    await acquire();
    expect(redis.calls[0]?.args[2]).not.toBe(redis.calls[1]?.args[2]);
  });
});

describe('a lease', () => {
  beforeEach(() => {
    redis.otherwise = () => ['held'];
  });

  test('gives its load less time than its longest life, and always some', async () => {
    const lease = await held();
    expect(lease.remainingMs).toBeLessThan(LONGEST_MS);
    expect(lease.remainingMs).toBeGreaterThan(LONGEST_MS - 1000);
    vi.advanceTimersByTime(2 * LONGEST_MS);
    expect(lease.remainingMs).toBe(1);
  });

  test('counts from the moment before it was requested', async () => {
    redis.replies.push(async () => {
      vi.advanceTimersByTime(40);
      return ['held'];
    });
    expect((await held()).remainingMs).toBe(LONGEST_MS - 250 - 40);
  });

  test('that is restarted gives its load the whole time again', async () => {
    const lease = await held();
    vi.advanceTimersByTime(LONGEST_MS - 300);
    expect(lease.remainingMs).toBe(50);
    lease.restart();
    expect(lease.remainingMs).toBe(LONGEST_MS - 250);
  });

  test('is ended with the id that acquired it, whatever Redis answers', async () => {
    const [first, second] = [await held(), await held()];
    redis.otherwise = () => Promise.reject(new Error('lost'));
    first.release();
    second.fail('why');
    await leases.close();
    expect(redis.ended).toEqual([
      [RELEASE, redis.calls[0]?.args[2]],
      [FAIL, redis.calls[1]?.args[2]],
    ]);
    expect(redis.calls[3]?.args.slice(-2)).toEqual(['why', 250]);
  });

  test.each([
    ['released', RELEASE],
    ['settled', SETTLE],
    ['failed', FAIL],
  ])(
    'that was %s is ended again when the command was lost, for as long as the lease would last',
    async (how, script) => {
      const lease = await held();
      redis.replies.push(...Array.from({ length: 3 }, () => () => Promise.reject(new Error('lost'))));
      if (how === 'released') lease.release();
      else if (how === 'settled') lease.settle();
      else lease.fail('why');
      await vi.advanceTimersByTimeAsync(25 + 50);
      expect(redis.ended).toHaveLength(3);
      await vi.advanceTimersByTimeAsync(100);
      expect(redis.ended).toEqual(Array.from({ length: 4 }, () => [script, redis.calls[0]?.args[2]]));
      await vi.advanceTimersByTimeAsync(LEASE_MS);
      expect(redis.ended).toHaveLength(4);

      redis.otherwise = () => Promise.reject(new Error('lost'));
      const other = await leases.acquire('key', { stamp: STAMP, budgetMs: BUDGET_MS, isFirst: true });
      if (other.state === 'load') other.lease.release();
      await vi.advanceTimersByTimeAsync(10 * LEASE_MS);
      const times = redis.ended.length;
      expect(times).toBeLessThan(4 + 10);
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});

describe('the renewal of a lease', () => {
  beforeEach(() => {
    redis.otherwise = () => ['held'];
  });

  const token = () => redis.calls[0]?.args[2];
  const renews = () => {
    redis.otherwise = () => 1;
  };
  const lost = () => Promise.reject(new Error('lost'));

  test.each<[string, (lease: Awaited<ReturnType<typeof held>>) => unknown]>([
    ['stored', (lease) => lease.settle()],
    ['failed', (lease) => lease.fail('why')],
    ['released', (lease) => lease.release()],
    ['closed', () => leases.close()],
  ])('is not sent for a load that is %s before the first renewal is due', async (_, end) => {
    const lease = await held();
    await vi.advanceTimersByTimeAsync(RENEW_EVERY_MS - 1);
    void end(lease);
    await vi.advanceTimersByTimeAsync(LONGEST_MS);
    expect(redis.renewals).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('sends the age of the load each time, and never reaches beyond the longest life', async () => {
    await held();
    renews();
    await vi.advanceTimersByTimeAsync(10 * LONGEST_MS);
    expect(redis.renewals).toEqual([
      ...[500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500].map((at) => [at, token(), at, LEASE_MS]),
      [5000, token(), 5000, 1000],
      [5500, token(), 5500, 500],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('sends the age of the load since its last restart', async () => {
    const lease = await held();
    renews();
    await vi.advanceTimersByTimeAsync(5100);
    lease.restart();
    await vi.advanceTimersByTimeAsync(10 * LONGEST_MS);
    const renewed = redis.renewals.map(([at, , ageMs, extensionMs]) => [at, ageMs, extensionMs]);
    expect(renewed.slice(9, 12)).toEqual([
      [5000, 5000, 1000],
      [5500, 400, LEASE_MS],
      [6000, 900, LEASE_MS],
    ]);
    expect(renewed.at(-1)).toEqual([11_000, 5900, 100]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('stops when another instance holds the lease, and the end of the load is still sent', async () => {
    const lease = await held();
    redis.replies.push(() => 1);
    redis.otherwise = () => 0;
    await vi.advanceTimersByTimeAsync(LONGEST_MS);
    expect(redis.renewals.map(([at]) => at)).toEqual([500, 1000]);
    expect(vi.getTimerCount()).toBe(0);
    lease.release();
    await leases.close();
    expect(redis.ended).toEqual([[RELEASE, token()]]);
  });

  test('is sent at the next interval when one was lost', async () => {
    await held();
    redis.replies.push(lost, lost);
    renews();
    await vi.advanceTimersByTimeAsync(2000);
    expect(redis.renewals.map(([at]) => at)).toEqual([500, 1000, 1500, 2000]);
  });

  test('lets the end of the lease be repeated until the renewed lease expires', async () => {
    const lease = await held();
    renews();
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    redis.otherwise = lost;
    lease.release();
    const endedAt = Date.now();
    await vi.advanceTimersByTimeAsync(LONGEST_MS);
    const repeatsAt = redis.calls.flatMap(({ script, at }) => (script === RELEASE ? [at - endedAt] : []));
    expect(repeatsAt).toEqual([0, 25, 75, 175, 375, 775]);
  });

  test('also renews a lease that Redis may have given without its reply', async () => {
    redis.replies.push(never);
    const acquiring = acquire();
    await vi.advanceTimersByTimeAsync(BUDGET_MS + 1);
    expect((await acquiring).state).toBe('load');
    renews();
    await vi.advanceTimersByTimeAsync(RENEW_EVERY_MS);
    expect(redis.renewals.map(([, renewed]) => renewed)).toEqual([token()]);
  });
});
