import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Lease } from '../../src/coalescing/held-lease.ts';
import { admin, Instance, LEASE_MS, leaseOf, NOTHING, redisKey, settle, someKey, waitersOf } from './lease-instance.ts';

beforeAll(() => admin.connect());
afterAll(() => admin.disconnect());

describe('garbage', () => {
  const heldForEver = `held 0 ${randomUUID()}`;
  test.each<[string, (key: string) => Promise<unknown>]>([
    ['a word', (key) => admin.set(leaseOf(key), 'garbage', 'PX', 10_000)],
    ['a failure that would be kept for long', (key) => admin.set(leaseOf(key), 'failed {}', 'PX', 100_000)],
    ['bytes', (key) => admin.set(leaseOf(key), Buffer.from([0, 255, 10, 13]), 'PX', 10_000)],
    ['nothing', (key) => admin.set(leaseOf(key), '', 'PX', 10_000)],
    ['a word in place of its time', (key) => admin.set(leaseOf(key), 'held long x', 'PX', 10_000)],
    ['a time below none', (key) => admin.set(leaseOf(key), 'held -5 x', 'PX', 10_000)],
    ['a time beyond numbers', (key) => admin.set(leaseOf(key), `held ${'9'.repeat(400)} x`, 'PX', 10_000)],
    ['a list', (key) => admin.lpush(leaseOf(key), 'garbage')],
    ['a hash', (key) => admin.hset(leaseOf(key), 'held', '1')],
    ['held without an end', (key) => admin.set(leaseOf(key), heldForEver)],
    ['held for longer than it says', (key) => admin.set(leaseOf(key), heldForEver, 'PX', LEASE_MS + 1000)],
    ['held for a year', (key) => admin.set(leaseOf(key), 'held 0 x', 'PX', 365 * 86_400_000)],
    ['failed for ever', (key) => admin.set(leaseOf(key), 'failed {}')],
    ['failed for a year', (key) => admin.set(leaseOf(key), 'failed {}', 'PX', 365 * 86_400_000)],
  ])('in the lease is taken over by exactly one instance: %s', async (_, spoil) => {
    const fleet = await Instance.fleet(3);
    const key = someKey();
    await spoil(key);
    const acquired = await Promise.all(fleet.map((instance) => instance.acquire(key)));
    expect(acquired.map(({ state }) => state).toSorted()).toEqual(['load', 'taken', 'taken']);
    expect(await admin.pttl(leaseOf(key))).toBeGreaterThan(0);
    expect(await admin.pttl(leaseOf(key))).toBeLessThanOrEqual(LEASE_MS);
  });

  test('in the lease ends a wait', async () => {
    const [a, b] = (await Instance.fleet(2)) as [Instance, Instance];
    const key = someKey();
    await a.hold(key);
    const watch = await b.watch(key);
    await admin.set(leaseOf(key), 'garbage');
    expect(await watch.landed).toMatchObject({ state: 'free' });
  });

  test.each<[string, (key: string) => Promise<unknown>]>([
    ['a string', (key) => admin.set(waitersOf(key), 'garbage')],
    ['a list', (key) => admin.lpush(waitersOf(key), 'garbage')],
    ['members that nobody is, for ever', (key) => admin.sadd(waitersOf(key), 'garbage', '', '*', '\n')],
  ])('in the list of waiters hinders neither acquisition nor end: %s', async (_, spoil) => {
    const [a, b] = (await Instance.fleet(2)) as [Instance, Instance];
    for (const end of [settle, async (_key: string, lease: Lease) => lease.fail('why')]) {
      const key = someKey();
      await spoil(key);
      const lease = await a.hold(key);
      const watch = await b.watch(key);
      expect(await admin.pttl(waitersOf(key))).toBeGreaterThan(0);
      await end(key, lease);
      await watch.landed;
      // The instance may have seen the entry in a poll, just before the lease ends.
      await expect.poll(() => admin.exists(waitersOf(key))).toBe(0);
    }
    const key = someKey();
    const lease = await a.hold(key);
    const watch = await b.watch(key);
    // In one step: a poll between two would put the waiter back.
    const spoiled = someKey();
    await spoil(spoiled);
    await admin.rename(waitersOf(spoiled), waitersOf(key));
    lease.release();
    expect(await watch.landed).toMatchObject({ state: 'free' });
  });

  test('on the channel ends no wait', async () => {
    const [a, b] = (await Instance.fleet(2)) as [Instance, Instance];
    const key = someKey();
    await a.hold(key);
    const watch = await b.watch(key);
    for (const message of [
      '',
      'garbage',
      ' ',
      `${redisKey(key)}`,
      `${redisKey(key)} `,
      'a b c',
      Buffer.from([255, 0]),
    ]) {
      await admin.publish(b.channel, message);
    }
    await admin.publish(b.channel, `${redisKey(key)} free`);
    expect(await watch.landed).toMatchObject({ state: 'free' });
    // No load has ended: a waiter that gets such a message asks Redis.
    expect(await b.acquire(key, NOTHING, false)).toMatchObject({ state: 'taken' });
  });
});
