import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Lease } from '../../src/coalescing/held-lease.ts';
import { admin, Instance, LEASE_MS, leaseOf, NOTHING, settle, someKey } from './lease-instance.ts';

beforeAll(() => admin.connect());
afterAll(() => admin.disconnect());

describe('a holder whose lease has ended and is held by another', () => {
  test.each<[string, (key: string, lease: Lease) => unknown]>([
    ['releases', (_, lease) => lease.release()],
    ['fails', (_, lease) => lease.fail('too late')],
    ['stores', settle],
  ])('does not end that one when it %s', async (what, end) => {
    const [a, b, c] = (await Instance.fleet(3)) as [Instance, Instance, Instance];
    const key = someKey();
    const late = await a.hold(key);
    await admin.del(leaseOf(key));
    const lease = await b.hold(key);
    const watch = await c.watch(key);
    const held = await admin.get(leaseOf(key));
    await end(key, late);
    await a.leases.close();
    expect(await admin.get(leaseOf(key))).toBe(held);
    if (what === 'stores') {
      expect(await watch.landed).toMatchObject({ state: 'changed' });
      return;
    }
    await c.acquire(someKey());
    expect(watch.ended).toBe(false);
    lease.fail('in time');
    expect(await watch.landed).toMatchObject({ state: 'failed', failure: 'in time' });
  });
});

describe('a lease that is renewed', () => {
  const often = { renewEveryMs: 20, longestMs: 3_600_000 };

  test('lasts longer than without renewal, and instances wait longer for it', async () => {
    const a = await Instance.start(often);
    const b = await Instance.start();
    const key = someKey();
    const lease = await a.hold(key);
    const watch = await b.watch(key);
    for (let time = 0; time < 3; time++) {
      // As if so much time had passed.
      await admin.pexpire(leaseOf(key), 5000);
      await expect.poll(() => admin.pttl(leaseOf(key))).toBeGreaterThan(10_000);
    }
    expect(watch.ended).toBe(false);
    expect(await b.acquire(key, NOTHING, false)).toMatchObject({ state: 'taken' });
    await settle(key, lease);
    expect(await watch.landed).toMatchObject({ state: 'changed' });
    // Instance b may have seen the entry in a poll, just before the lease ends.
    await expect.poll(() => admin.exists(leaseOf(key))).toBe(0);
  });

  test('is taken over by a new flight once its load was sent too long ago, however often the lease was renewed', async () => {
    const a = await Instance.start({ now: () => 0 });
    const key = someKey();
    await a.hold(key);
    const held = await admin.get(leaseOf(key));
    await admin.set(leaseOf(key), String(held).replace('held 0 ', 'held 30000 '), 'PX', LEASE_MS);
    const b = await Instance.start({ collapseWindowMs: 60_000 });
    expect(await b.acquire(key)).toMatchObject({ state: 'taken' });
    const c = await Instance.start({ collapseWindowMs: 30_000 });
    expect(await c.acquire(key, NOTHING, false)).toMatchObject({ state: 'taken' });
    expect(await c.acquire(key, NOTHING, true)).toMatchObject({ state: 'load' });
  });

  test('says at each renewal how old its load is', async () => {
    let now = 0;
    const a = await Instance.start({ ...often, now: () => now });
    const key = someKey();
    await a.hold(key);
    now = 123_456;
    await expect.poll(() => admin.get(leaseOf(key))).toMatch(/^held 123456 /);
  });

  test.each<[string, (key: string) => Promise<unknown>]>([
    ['has expired', (key) => admin.del(leaseOf(key))],
    ['is held by another instance', (key) => admin.set(leaseOf(key), 'held 0 another', 'PX', LEASE_MS)],
    ['holds a failure', (key) => admin.set(leaseOf(key), 'failed {}', 'PX', 5000)],
    ['is a list', async (key) => [await admin.del(leaseOf(key)), await admin.lpush(leaseOf(key), 'garbage')]],
  ])('is left as it is and no longer renewed once it %s', async (_, lose) => {
    const a = await Instance.start(often);
    const key = someKey();
    await a.hold(key);
    await lose(key);
    const left = await admin.dump(leaseOf(key));
    await expect.poll(() => a.renewals.at(-1)).toBe(0);
    const renewals = a.renewals.length;
    // Ten further renewals of another lease: this one is not among them.
    const other = someKey();
    await a.hold(other);
    await expect.poll(() => a.renewals.length).toBeGreaterThan(renewals + 10);
    expect(a.renewals.slice(renewals)).not.toContain(0);
    expect(await admin.dump(leaseOf(key))).toEqual(left);
  });

  test('expires when its holder is gone, and exactly one waiting instance takes over', async () => {
    const [a, b, c] = (await Instance.fleet(3, often)) as [Instance, Instance, Instance];
    const key = someKey();
    await a.hold(key);
    const watches = [await b.watch(key), await c.watch(key)];
    await expect.poll(() => a.renewals.length).toBeGreaterThan(3);
    // As for a process that was killed: nothing more is sent, not even an end.
    await a.connection.close();
    expect(await admin.pttl(leaseOf(key))).toBeGreaterThan(0);
    // As if nearly all of its time had passed.
    await admin.pexpire(leaseOf(key), 50);
    for (const { landed } of watches) expect(await landed).toMatchObject({ state: 'free' });
    const acquired = await Promise.all([b.acquire(key, NOTHING, false), c.acquire(key, NOTHING, false)]);
    expect(acquired.map(({ state }) => state).toSorted()).toEqual(['load', 'taken']);
  });
});
