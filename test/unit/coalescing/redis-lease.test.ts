import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ACQUIRE, FAIL, RELEASE, RENEW, SETTLE } from '../../../src/coalescing/lease-scripts.ts';
import { type Acquisition, RedisLease } from '../../../src/coalescing/redis-lease.ts';

const LEASE_MS = 1500;
const RENEW_EVERY_MS = 500;
const LONGEST_MS = 6000;
const BUDGET_MS = 50;
const REDIS_KEY = 'toncache:{key}';
const STAMP = Buffer.from('12345678');

type Reply = unknown | Promise<unknown>;

/** A Redis whose replies to scripts the test sets, and that delivers messages. */
class ScriptedRedis {
  readonly calls: { readonly script: string; readonly args: readonly (string | Buffer | number)[]; at: number }[] = [];
  readonly replies: (() => Reply)[] = [];
  otherwise: () => Reply = () => ['taken'];
  send: (message: string) => void = () => {};

  readonly runScript = async (script: string, _: readonly string[], args: readonly (string | Buffer | number)[]) => {
    this.calls.push({ script, args, at: Date.now() });
    return (this.replies.shift() ?? this.otherwise)();
  };

  readonly listen = (_: string, onMessage: (message: Buffer) => void) => {
    this.send = (message) => onMessage(Buffer.from(message));
  };

  /** When Redis was looked at while waiting, counted from the acquisition. */
  get pollsAt(): number[] {
    const [acquiredAt = 0, ...polls] = this.calls.filter(({ script }) => script === ACQUIRE).map(({ at }) => at);
    return polls.map((at) => at - acquiredAt);
  }

  /** What ended leases, and whose. */
  get ended(): [script: string, token: unknown][] {
    return this.calls.flatMap(({ script, args }) =>
      script === ACQUIRE || script === RENEW ? [] : [[script, args[0]]],
    );
  }

  /** When leases were renewed, counted from the acquisition, and what was sent: the token, the age, the milliseconds. */
  get renewals(): [at: number, ...args: unknown[]][] {
    const acquiredAt = this.calls[0]?.at ?? 0;
    return this.calls.flatMap(({ script, args, at }) => (script === RENEW ? [[at - acquiredAt, ...args]] : []));
  }
}

let redis: ScriptedRedis;
let leases: RedisLease;

beforeEach(() => {
  vi.useFakeTimers();
  redis = new ScriptedRedis();
  leases = new RedisLease({
    redis,
    redisKey: (key) => `toncache:{${key}}`,
    leaseMs: LEASE_MS,
    renewEveryMs: RENEW_EVERY_MS,
    longestMs: LONGEST_MS,
    collapseWindowMs: 1000,
    failureTtlMs: 250,
    pollBudgetMs: BUDGET_MS,
    now: Date.now,
  });
});
afterEach(() => vi.useRealTimers());

const acquire = (isFirst = true) => leases.acquire('key', { stamp: STAMP, budgetMs: BUDGET_MS, isFirst });

async function taken(): Promise<Acquisition & { state: 'taken' }> {
  const acquired = await acquire();
  if (acquired.state !== 'taken') throw new Error(`it is ${acquired.state}`);
  return acquired;
}

async function held() {
  const acquired = await acquire();
  if (acquired.state !== 'load') throw new Error(`it is ${acquired.state}`);
  return acquired.lease;
}

const never = () => new Promise<never>(() => {});

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
    await vi.advanceTimersByTimeAsync(2);
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
