import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, describe, expect, inject, test } from 'vitest';
import { redisKeyFor } from '../../src/cache/redis-key.ts';
import type { Lease } from '../../src/coalescing/held-lease.ts';
import { RENEW } from '../../src/coalescing/lease-scripts.ts';
import { type Acquisition, RedisLease, type RedisLeaseOptions } from '../../src/coalescing/redis-lease.ts';
import type { RedisListening, RedisScripting } from '../../src/redis/connect.ts';
import { connectedRedis } from '../support/observed-redis-tier.ts';

type Connection = Awaited<ReturnType<typeof connectedRedis>>;

const LEASE_MS = 20_000;

/** Only where a test says so: renewals do not depend on how busy the machine is then. */
const NEVER_MS = 1_000_000;
const NOTHING = Buffer.alloc(0);
const admin = new Redis(inject('redisUrl'));
const connections: Connection[] = [];
const redisKey = redisKeyFor(`test:${randomUUID()}:`);
afterAll(() => admin.disconnect());
afterEach(async () => {
  await Promise.all(connections.splice(0).map((connection) => connection.close()));
});

let keys = 0;
const someKey = () => `key ${++keys}`;
const leaseOf = (key: string) => `${redisKey(key)}:lease`;
const waitersOf = (key: string) => `${redisKey(key)}:waiters`;

/** An instance that gets all messages, and polls at the given interval. */
class Instance {
  readonly leases: RedisLease;
  readonly connection: RedisScripting & RedisListening;
  channel = '';
  polls = 0;
  /** The replies of Redis to renewals: 1 where this instance held the lease. */
  readonly renewals: unknown[] = [];

  constructor(connection: RedisScripting & RedisListening, options: Partial<RedisLeaseOptions> = {}) {
    this.connection = connection;
    this.leases = new RedisLease({
      redis: {
        runScript: async (script, scriptKeys, args) => {
          if (args[1] === 'watch') this.polls++;
          const reply = await connection.runScript(script, scriptKeys, args);
          if (script === RENEW) this.renewals.push(reply);
          return reply;
        },
        listen: (channel, onMessage) => {
          this.channel = channel;
          connection.listen(channel, onMessage);
        },
      },
      redisKey,
      leaseMs: LEASE_MS,
      renewEveryMs: NEVER_MS,
      longestMs: NEVER_MS,
      collapseWindowMs: LEASE_MS,
      failureTtlMs: 5000,
      pollBudgetMs: 10_000,
      now: () => performance.now(),
      ...options,
    });
  }

  static async start(options: Partial<RedisLeaseOptions> = {}): Promise<Instance> {
    const connection = await connectedRedis(inject('redisUrl'), { commandTimeoutMs: 10_000 });
    connections.push(connection);
    const instance = new Instance(connection, options);
    await expect
      .poll(async () => (await admin.pubsub('NUMSUB', instance.channel)) as unknown[])
      .toEqual([instance.channel, 1]);
    return instance;
  }

  static fleet(count: number, options: Partial<RedisLeaseOptions> = {}): Promise<Instance[]> {
    return Promise.all(Array.from({ length: count }, () => Instance.start(options)));
  }

  acquire(key: string, stamp = NOTHING, isFirst = true): Promise<Acquisition> {
    return this.leases.acquire(key, { stamp, budgetMs: 10_000, isFirst });
  }

  async hold(key: string): Promise<Lease> {
    const acquired = await this.acquire(key);
    if (acquired.state !== 'load') throw new Error(`it is ${acquired.state}`);
    return acquired.lease;
  }

  async follow(key: string): Promise<ReturnType<(Acquisition & { state: 'taken' })['landed']>> {
    const acquired = await this.acquire(key);
    if (acquired.state !== 'taken') throw new Error(`it is ${acquired.state}`);
    return acquired.landed();
  }

  /** Waits without anybody's waiting for it: whether it is over yet can be asked. */
  async watch(key: string): Promise<{ ended: boolean; landed: Promise<unknown> }> {
    const acquired = await this.acquire(key);
    if (acquired.state !== 'taken') throw new Error(`it is ${acquired.state}`);
    const watch = { ended: false, landed: acquired.landed() as Promise<unknown> };
    void watch.landed.then(() => {
      watch.ended = true;
    });
    return watch;
  }
}

async function settle(key: string, lease: Lease): Promise<void> {
  await admin.set(redisKey(key), 'an entry', 'PX', 60_000);
  lease.settle();
}

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
    expect(await admin.exists(leaseOf(key), waitersOf(key))).toBe(0);
  });

  test('all get a failure, also those that missed the message and those that come a little later', async () => {
    const [a, b, c] = (await Instance.fleet(3)) as [Instance, Instance, Instance];
    const deaf = new Instance(Object.assign(connections[0] as Connection, { listen: () => {} }));
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
    connections.push(connection);
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
    expect(await admin.exists(leaseOf(key))).toBe(0);
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
    const [a, b, c] = (await Instance.fleet(3, { ...often, leaseMs: 1500 })) as [Instance, Instance, Instance];
    const key = someKey();
    await a.hold(key);
    const watches = [await b.watch(key), await c.watch(key)];
    await expect.poll(() => a.renewals.length).toBeGreaterThan(3);
    // As for a process that was killed: nothing more is sent, not even an end.
    const [dead] = connections.splice(connections.indexOf(a.connection as Connection), 1);
    await dead?.close();
    for (const { landed } of watches) expect(await landed).toMatchObject({ state: 'free' });
    const acquired = await Promise.all([b.acquire(key, NOTHING, false), c.acquire(key, NOTHING, false)]);
    expect(acquired.map(({ state }) => state).toSorted()).toEqual(['load', 'taken']);
  });
});

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
      expect(await admin.exists(waitersOf(key))).toBe(0);
    }
    const key = someKey();
    const lease = await a.hold(key);
    const watch = await b.watch(key);
    await admin.del(waitersOf(key));
    await spoil(key);
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

async function someWaiterBut(key: string, gone: string): Promise<string> {
  const [waiter = ''] = (await admin.smembers(waitersOf(key))).filter((member) => member !== gone);
  return waiter;
}
