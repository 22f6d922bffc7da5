import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import type { Lease } from '../../src/coalescing/held-lease.ts';
import { connectedRedis } from '../support/observed-redis-tier.ts';
import { admin, Instance, LEASE_MS, leaseOf, NOTHING, settle, someKey, waitersOf } from './lease-instance.ts';

beforeAll(() => admin.connect());
afterAll(() => admin.disconnect());

describe('of instances that acquire the lease of one key', () => {
  test('exactly one loads it', async () => {
    const fleet = await Instance.fleet(3);
    for (let time = 0; time < 20; time++) {
      const key = someKey();
      const acquired = await Promise.all([...fleet, ...fleet, ...fleet].map((instance) => instance.acquire(key)));
      expect(acquired.filter(({ state }) => state === 'load')).toHaveLength(1);
      expect(acquired.filter(({ state }) => state === 'taken')).toHaveLength(8);
    }
  });

  test('none loads an answer that was stored since its look-up', async () => {
    const [a, b] = (await Instance.fleet(2)) as [Instance, Instance];
    const key = someKey();
    await settle(key, await a.hold(key));
    expect(await b.acquire(key)).toMatchObject({ state: 'changed' });
    expect(await b.acquire(key, Buffer.from('an entr'))).toMatchObject({ state: 'changed' });
    // One that has seen it wants a newer one.
    expect(await b.acquire(key, Buffer.from('an entry'))).toMatchObject({ state: 'load' });
  });

  test('only a new flight takes over a load that began too long ago', async () => {
    const [a, b] = (await Instance.fleet(2, { collapseWindowMs: 1 })) as [Instance, Instance];
    const key = someKey();
    await a.hold(key);
    await expect.poll(() => admin.pttl(leaseOf(key))).toBeLessThan(LEASE_MS - 1);
    expect(await b.acquire(key, NOTHING, false)).toMatchObject({ state: 'taken' });
    expect(await b.acquire(key, NOTHING, true)).toMatchObject({ state: 'load' });
  });
});

describe('waiting instances', () => {
  test('are all woken by the store, which ends the lease', async () => {
    const [a, b, c] = (await Instance.fleet(3)) as [Instance, Instance, Instance];
    const key = someKey();
    const lease = await a.hold(key);
    const watches = [await b.watch(key), await c.watch(key), await c.watch(key)];
    await settle(key, lease);
    for (const { landed } of watches) expect(await landed).toMatchObject({ state: 'changed' });
    // The instances may have seen the entry in a poll, just before the lease ends.
    await expect.poll(() => admin.exists(leaseOf(key), waitersOf(key))).toBe(0);
  });

  test('all get a failure, also those that missed the message and those that come a little later', async () => {
    const [a, b, c] = (await Instance.fleet(3)) as [Instance, Instance, Instance];
    const deaf = new Instance(Object.assign(a.connection, { listen: () => {} }));
    const key = someKey();
    const lease = await a.hold(key);
    const [woken, missed] = [await b.watch(key), await deaf.watch(key)];
    lease.fail('{"why":"¿\\n?"}');
    const failed = { state: 'failed', failure: '{"why":"¿\\n?"}' };
    expect(await woken.landed).toMatchObject(failed);
    expect(await missed.landed).toMatchObject(failed);
    expect(await c.acquire(key)).toMatchObject(failed);
    const ttlMs = await admin.pttl(leaseOf(key));
    expect(ttlMs).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(5000);
  });

  test('get a failure that is not reused, and the key is free at once', async () => {
    const [a, b] = (await Instance.fleet(2, { failureTtlMs: 0 })) as [Instance, Instance];
    const key = someKey();
    const lease = await a.hold(key);
    const watch = await b.watch(key);
    lease.fail('why');
    await a.leases.close();
    expect(await admin.exists(leaseOf(key))).toBe(0);
    expect(['failed', 'free']).toContain(((await watch.landed) as { state: string }).state);
    expect(await b.acquire(key)).toMatchObject({ state: 'load' });
  });

  test('are woken one at a time by a release, and the others wait for that one', async () => {
    const fleet = await Instance.fleet(4);
    const [a, ...others] = fleet as [Instance, ...Instance[]];
    const key = someKey();
    const lease = await a.hold(key);
    await Promise.all(others.map((it) => it.acquire(key)));
    const heard: string[] = [];
    const listener = new Redis(inject('redisUrl'));
    listener.on('message', (channel: string, message: string) => heard.push(`${channel} ${message}`));
    await listener.subscribe(...fleet.map(({ channel }) => channel));
    lease.release();
    await a.leases.close();
    await expect.poll(() => heard).toHaveLength(1);
    expect(heard[0]).toMatch(/ free$/);
    expect(await admin.scard(waitersOf(key))).toBe(2);
    const last = fleet[0] as Instance;
    await admin.publish(last.channel, 'that was all');
    await expect.poll(() => heard.at(-1)).toMatch(/that was all$/);
    expect(heard).toHaveLength(2);
    listener.disconnect();
  });

  test('poll when messages do not come', async () => {
    const connection = await connectedRedis(inject('redisUrl'), { commandTimeoutMs: 10_000 });
    onTestFinished(() => connection.close());
    const deaf = new Instance(Object.assign(connection, { listen: () => {} }));
    const a = await Instance.start();
    for (const [end, state] of [
      [settle, 'changed'],
      [async (_: string, lease: Lease) => lease.release(), 'free'],
    ] as const) {
      const key = someKey();
      const lease = await a.hold(key);
      const watch = await deaf.watch(key);
      await end(key, lease);
      expect(await watch.landed).toMatchObject({ state });
    }
    expect(deaf.polls).toBeGreaterThanOrEqual(2);
  });

  test('are not blocked by one of them that is gone', async () => {
    const [a, b] = (await Instance.fleet(2)) as [Instance, Instance];
    const key = someKey();
    const lease = await a.hold(key);
    await admin.sadd(waitersOf(key), 'gone');
    const watch = await b.watch(key);
    await admin.srem(waitersOf(key), await someWaiterBut(key, 'gone'));
    lease.release();
    expect(await watch.landed).toMatchObject({ state: 'free' });
  });

  test('leave no keys behind in Redis', async () => {
    const [a, b] = (await Instance.fleet(2)) as [Instance, Instance];
    const key = someKey();
    await a.hold(key);
    await b.acquire(key);
    expect(await admin.pttl(waitersOf(key))).toBeGreaterThan(0);
    expect(await admin.pttl(waitersOf(key))).toBeLessThanOrEqual(LEASE_MS + 1000);
  });
});

async function someWaiterBut(key: string, gone: string): Promise<string> {
  const [waiter = ''] = (await admin.smembers(waitersOf(key))).filter((member) => member !== gone);
  return waiter;
}
