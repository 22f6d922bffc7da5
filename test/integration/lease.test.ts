import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Entry, fingerprints } from '../../src/cache/entry.ts';
import { MemoryTier } from '../../src/cache/memory-tier.ts';
import { ACCEPTED_AFTER_MS, precedenceOver } from '../../src/cache/precedence.ts';
import { leaseKeyOf, redisKeyFor } from '../../src/cache/redis-keys.ts';
import { TieredCache } from '../../src/cache/tiered-cache.ts';
import { type Acquisition, FAILED_MS, Leases } from '../../src/once/lease.ts';
import { connectedRedis } from '../support/connected-redis.ts';
import { anEntry, bodyOf, NOTHING_PURGED } from '../support/entry.ts';
import { ObservedRedisTier } from '../support/observed-redis-tier.ts';

const url = inject('redisUrl');
const admin = new Redis(url);
const redis = await connectedRedis(url);
const redisKey = redisKeyFor(`test:lease:${Math.random()}:`);
const leaseKey = (key: string) => leaseKeyOf(redisKey(key));
const observed = new ObservedRedisTier(url, { budgetMs: 5000, redisKey });
beforeAll(() => observed.untilConnection('connected'));
afterAll(async () => {
  await observed[Symbol.asyncDispose]();
  await redis.close();
  admin.disconnect();
});

const BUDGET_MS = 5000;
const NOW = Date.now();
const newKey = () => `key ${Math.random()}`;
const listing = (key: string, members: readonly string[], more: Partial<Entry> = {}) =>
  anEntry({
    key,
    askedAt: NOW,
    body: Buffer.from(members.join(',')),
    ...more,
    completeness: { rank: 2, members: fingerprints(members), tentative: Buffer.alloc(0) },
  });

/** One instance, with a memory of its own. */
function instance({ leaseMs = 60_000 } = {}) {
  const memory = new MemoryTier({ now: Date.now, maxSizeBytes: 1e6 });
  const cache = new TieredCache({
    memory,
    redis: observed.tier,
    purges: NOTHING_PURGED,
    hasReached: () => false,
    olderAnswers: { look: () => {} },
    now: Date.now,
  });
  const leases = new Leases({
    redis,
    cache,
    leaseKey,
    now: () => performance.now(),
    leaseMs,
    pollBudgetMs: BUDGET_MS,
    failedMs: FAILED_MS,
  });
  const set = async (entry: Entry, token = '') => {
    let write = Promise.resolve(false);
    cache.set(entry, [], {
      lease: {
        token,
        endsWith: (begun) => {
          write = begun;
        },
      },
    });
    return write;
  };
  return { cache, set, acquire: (key: string) => leases.acquire(key, [], BUDGET_MS) };
}

function ours(acquired: Acquisition) {
  if (acquired.state !== 'ours') throw new Error(`the lease is ${acquired.state}`);
  return acquired.lease;
}

function landing(acquired: Acquisition, signal = new AbortController().signal) {
  if (acquired.state !== 'taken') throw new Error(`the lease is ${acquired.state}`);
  return acquired.landed(signal);
}

async function inRedis(key: string): Promise<string | undefined> {
  const read = await observed.tier.get(key);
  return read.state === 'found' ? bodyOf(read.entry).toString() : undefined;
}

describe('when two instances request the lease of a key', () => {
  test('the second gets it when the lease of the first, which was killed, expires; the first cannot end the new lease', async () => {
    const [key, first, second] = [newKey(), instance(), instance()];
    const lost = ours(await first.acquire(key));
    const landed = landing(await second.acquire(key));
    await admin.pexpire(leaseKey(key), 1);
    expect(await landed).toEqual({ state: 'over' });
    const lease = ours(await second.acquire(key));
    lost.fail();
    expect((await first.acquire(key)).state).toBe('taken');
    lease.release();
  });

  test('the second stops waiting when its last client leaves', async () => {
    const [key, first, second] = [newKey(), instance(), instance()];
    ours(await first.acquire(key));
    const leaving = new AbortController();
    const waiting = landing(await second.acquire(key), leaving.signal);
    leaving.abort();
    expect(await waiting).toEqual({ state: 'over' });
  });
});

const HASHES = ['a', 'b', 'c', 'd'];

/** Answers of one key that differ in everything that precedence compares, with equal instants in half of the cases. */
const answers = fc
  .record({
    askedAt: fc.constantFrom(NOW - 2000, NOW - 1000, NOW),
    order: fc.constantFrom(undefined, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 63n + 1n, 2n ** 143n),
    rank: fc.integer({ min: 0, max: 3 }),
    members: fc.subarray(HASHES),
    tentative: fc.subarray(HASHES),
    regressedSince: fc.constantFrom(undefined, NOW - ACCEPTED_AFTER_MS / 2, NOW - 2 * ACCEPTED_AFTER_MS),
    body: fc.string({ maxLength: 10 }),
  })
  .map(({ order, rank, members, tentative, body, ...rest }) => {
    const completeness = {
      ...(order && { order }),
      rank,
      members: fingerprints(members),
      tentative: fingerprints(tentative),
    };
    return anEntry({ ...rest, body: Buffer.from(body), completeness });
  });

describe('Redis', () => {
  test('keeps the better of two answers from instances with empty memories', async () => {
    await fc.assert(
      fc.asyncProperty(answers, answers, async (one, other) => {
        const key = newKey();
        const [first, second] = [
          { ...one, key },
          { ...other, key },
        ];
        await instance().set(first);
        await instance().set(second);
        const expected = precedenceOver(first, second, Date.now()) === 'replaces' ? second : first;
        expect(await inRedis(key)).toBe(bodyOf(expected).toString());
        expect(await admin.exists(leaseKey(key))).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  test('does not replace an answer with one requested earlier by an instance that stalled until its lease had expired', async () => {
    const [key, stalled, other] = [newKey(), instance({ leaseMs: 50 }), instance()];
    const lost = ours(await stalled.acquire(key));
    await expect.poll(() => admin.exists(leaseKey(key))).toBe(0);
    const lease = ours(await other.acquire(key));
    await other.set(listing(key, ['a', 'b']), lease.token);
    const earlier = listing(key, ['b', 'a'], { askedAt: NOW - 1 });
    expect(await stalled.set(earlier, lost.token)).toBe(false);
    expect(await inRedis(key)).toBe('a,b');
    expect(stalled.cache.lookInMemory(key, [])).toEqual({ state: 'miss' });
    expect(await stalled.cache.lookUp(key, [])).toMatchObject({ entry: { completeness: { rank: 2 } }, tier: 'redis' });
  });

  test("rejects a replacement without the lease while another load holds it; the answer stays in its instance's memory", async () => {
    const [key, holder, other] = [newKey(), instance(), instance()];
    await other.set(listing(key, ['a']));
    ours(await holder.acquire(key));
    expect(await other.set(listing(key, ['a', 'b']))).toBe(false);
    expect(await inRedis(key)).toBe('a');
    const kept = other.cache.lookInMemory(key, []);
    expect(kept.state !== 'miss' && bodyOf(kept.entry).toString()).toBe('a,b');
  });
});
