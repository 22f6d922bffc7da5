import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asAdmin } from '../support/as-admin.ts';
import { distinctAnswers, Fleet, someChildren } from '../support/fleet.ts';
import { children, GatedAnswers } from '../support/json-upstream.ts';
import { meddlingProxy } from '../support/meddling-proxy.ts';
import { IMPATIENT_REDIS } from '../support/patience.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

const RIGHT = [`200 ${JSON.stringify(children('a').body)}`];

/**
 * Expects that no instance has reported the same loss or return of Redis more than three times: not for each request.
 */
function expectTransitionsOnly(fleet: Fleet): void {
  for (const { log } of fleet.proxies) {
    const lines = log.map((line) => JSON.stringify([line.msg, 'operation' in line ? line.operation : '']));
    for (const line of new Set(lines)) {
      const turns = lines.filter((it) => it === line).length;
      expect([line, turns <= 3]).toEqual([line, true]);
    }
  }
}

describe('while two instances wait for a third one, a Redis', () => {
  it.each<[string, (redis: RedisServer) => Promise<unknown>]>([
    ['that is killed', (redis) => redis.kill()],
    ['that hangs', (redis) => redis.pause()],
  ])('%s ends their wait: each loads from the indexer itself, immediately', async (_, fail) => {
    await using redis = await startRedis();
    const indexer = new GatedAnswers();
    // The look-up and the acquisition at the beginning are not the subject. Their leases would last for an hour.
    const hour = 3_600_000;
    const overrides = {
      redis: { budget: 5000 },
      coalescing: { collapseWindow: hour },
      upstream: { timeout: 2 * hour },
    };
    await using fleet = await Fleet.start(indexer.answer, { redisUrl: redis.url, overrides });
    const target = someChildren();
    const asking = [0, 1, 2].map((index) => fleet.get(index).ask(target));
    await fleet.untilAsked(1);
    await fleet.untilFollowed(2);
    await fail(redis);
    await fleet.untilAsked(3);
    for (let time = 0; time < 3; time++) indexer.give(children('a'));
    expect(distinctAnswers(await Promise.all(asking))).toEqual(RIGHT);
    expect(fleet.asked).toBe(3);
    // The budget of Redis is used up: neither the loading instance nor the waiting ones sent it more commands.
    for (const proxy of fleet.proxies) {
      expect(await proxy.metric('redisCalls', { call: 'read' })).toBe(1);
    }
    await redis.kill();
  });

  it('whose connections are reset in the middle of a reply lets them wait or load from the indexer, and all get the answer', async () => {
    await using redis = await startRedis();
    await using proxy = await meddlingProxy(redis.port);
    const indexer = new GatedAnswers();
    await using fleet = await Fleet.start(indexer.answer, { redisUrl: proxy.url });
    const target = someChildren();
    const asking = [0, 1, 2].map((index) => fleet.get(index).ask(target));
    await fleet.untilAsked(1);
    await fleet.untilFollowed(2);
    // Not every reply belongs to a wait: leases are ended.
    const resetUntilAsked = () => {
      if (fleet.asked === 1) proxy.resetNextReplyAfterBytes(3);
      return fleet.asked;
    };
    await expect.poll(resetUntilAsked, { interval: 500 }).toBeGreaterThan(1);
    for (let time = 0; time < 3; time++) indexer.give(children('a'));
    expect(distinctAnswers(await Promise.all(asking))).toEqual(RIGHT);
    expect(fleet.asked).toBeLessThanOrEqual(3);
  });
});

describe('a Redis of three instances', () => {
  it.each<[string, (redis: RedisServer) => Promise<unknown>, (redis: RedisServer) => Promise<unknown>]>([
    ['that was killed', (redis) => redis.kill(), (redis) => redis.restart()],
    ['that hangs', (redis) => redis.pause(), (redis) => redis.resume()],
    [
      'that is read-only',
      (redis) => asAdmin(redis, (admin) => admin.replicaof('127.0.0.1', 1)),
      (redis) => asAdmin(redis, (admin) => admin.replicaof('NO', 'ONE')),
    ],
    [
      'that is full',
      (redis) => asAdmin(redis, (admin) => admin.config('SET', 'maxmemory', '1mb')),
      (redis) => asAdmin(redis, (admin) => admin.config('SET', 'maxmemory', '0')),
    ],
  ])('%s leaves all answers correct, and is used again once it works', async (_, fail, mend) => {
    await using redis = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] });
    await using fleet = await Fleet.start(() => children('a'), {
      redisUrl: redis.url,
      // A sixteenth of the memory has room for eight writes.
      overrides: { redis: { ...IMPATIENT_REDIS, openDuration: 50 }, memory: { maxSize: 16 * 8 * 64 * 1024 } },
    });
    await fail(redis);
    let pending = 0;
    for (let time = 0; time < 10; time++) {
      const targets = Array.from({ length: 10 }, someChildren);
      const replies = await Promise.all(targets.map((target) => fleet.ask(target)));
      expect(distinctAnswers(replies.flat())).toEqual(RIGHT);
      for (const proxy of fleet.proxies) {
        pending = Math.max(pending, await proxy.metric('redisPendingWrites'));
      }
    }
    expect(pending).toBeLessThanOrEqual(8);
    // No instance requests an answer twice that it has in memory.
    expect(fleet.asked).toBeLessThanOrEqual(3 * 100);
    await mend(redis);
    await expect
      .poll(async () => {
        const target = someChildren();
        const before = fleet.asked;
        expect(distinctAnswers(await fleet.ask(target, 30))).toEqual(RIGHT);
        return fleet.asked - before;
      })
      .toBe(1);
    expectTransitionsOnly(fleet);
  });

  it('that takes 5 s is not waited for: the request goes to the indexer immediately', async () => {
    await using redis = await startRedis();
    await using proxy = await meddlingProxy(redis.port);
    await using fleet = await Fleet.start(() => children('a'), {
      redisUrl: proxy.url,
      overrides: { redis: { ...IMPATIENT_REDIS, openDuration: 60_000 } },
    });
    // Far longer than a stall of a busy machine: an answer within this time is in time.
    proxy.delay(5000);
    for (let time = 0; time < 20; time++) {
      expect(distinctAnswers(await fleet.ask(someChildren()))).toEqual(RIGHT);
    }
    for (const instance of fleet.proxies) {
      // Up to three look-ups that overran their budget, then none: not even once the purges cannot be read.
      const reads = (outcome: string) => instance.metric('redisCalls', { call: 'read', outcome });
      expect([1, 2, 3]).toContain(await reads('failed'));
      expect([await reads('absent'), await reads('found')]).toEqual([0, 0]);
      expect(await instance.metric('leaseWaits')).toBe(0);
    }
    expectTransitionsOnly(fleet);
  });

  it('whose replies are repeatedly cut by resets leaves all answers correct', async () => {
    await using redis = await startRedis();
    await using proxy = await meddlingProxy(redis.port);
    await using fleet = await Fleet.start(() => children('a'), { redisUrl: proxy.url });
    for (let time = 0; time < 15; time++) {
      proxy.resetNextReplyAfterBytes(1 + ((time * 7) % 40));
      expect(distinctAnswers(await fleet.ask(someChildren(), 9))).toEqual(RIGHT);
    }
    expect(fleet.asked).toBeLessThanOrEqual(15 * 3);
  });
});

describe('garbage in Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] });
  });
  afterAll(() => redis.stop());

  /** Three new instances, and the place of the target's entry that an older one has stored. */
  async function start() {
    const fleet = await Fleet.start(() => children('a'), { redisUrl: redis.url, instances: 1 });
    const target = someChildren();
    await fleet.get(0).ask(target);
    await fleet.get(0).untilRedisHasAll();
    const admin = new Redis(redis.url);
    const [entry = ''] = await admin.keys(`toncache:*:${fleet.network}:*`);
    const stop = async () => {
      admin.disconnect();
      await fleet[Symbol.asyncDispose]();
    };
    return { fleet, target, admin, entry, [Symbol.asyncDispose]: stop };
  }

  it.each<[string, (admin: Redis, entry: string) => Promise<unknown>, number]>([
    ['garbage in place of an entry', (admin, entry) => admin.set(entry, Buffer.alloc(300, 0xa5)), 1],
    // Garbage says nothing about the key: each instance loads by itself, and the first store replaces it.
    ['a list in place of an entry', (admin, entry) => admin.pipeline().del(entry).lpush(entry, 'x').exec(), 3],
    // No load is waited for longer than the collapse window.
    ['garbage in the lease', spoiltLease((admin, lease) => admin.set(lease, 'garbage')), 3],
    ['a list in place of the lease', spoiltLease((admin, lease) => admin.lpush(lease, 'garbage')), 1],
    ['a lease of a year', spoiltLease((admin, lease) => admin.set(lease, 'x', 'PX', 31_536_000_000)), 3],
    ['a failure', spoiltLease((admin, lease) => admin.set(lease, 'failed x', 'PX', 60_000)), 3],
  ])('leaves all answers correct, and costs the indexer few requests: %s', async (_, spoil, most) => {
    await using world = await start();
    const { fleet, target, admin, entry } = world;
    for (let instance = 0; instance < 3; instance++) await fleet.add({ coalescing: { collapseWindow: 1000 } });
    await spoil(admin, entry);
    expect(distinctAnswers(await fleet.ask(target, 30, 1))).toEqual(RIGHT);
    expect(fleet.asked - 1).toBeGreaterThanOrEqual(1);
    expect(fleet.asked - 1).toBeLessThanOrEqual(most);
    // It was repaired: one more instance gets it from Redis.
    await Promise.all(fleet.proxies.map((proxy) => proxy.untilRedisHasAll()));
    const asked = fleet.asked;
    const newcomer = await fleet.add();
    expect((await newcomer.ask(target)).headers['cache-status']).toMatch(/detail=redis$/);
    expect(fleet.asked).toBe(asked);
    // None of it is worth a line: Redis itself is healthy.
    expect(fleet.proxies.flatMap(({ log }) => log.filter(({ level }) => level >= 40))).toEqual([]);
  });
});

function spoiltLease(spoil: (admin: Redis, lease: string) => Promise<unknown>) {
  return async (admin: Redis, entry: string) => {
    await admin.del(entry);
    await spoil(admin, `${entry}:lease`);
  };
}
