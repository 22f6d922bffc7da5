import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MemoryTier } from '../../src/cache/memory-tier.ts';
import { banKeysOf } from '../../src/cache/redis-keys.ts';
import type { RedisTier } from '../../src/cache/redis-tier.ts';
import { TieredCache } from '../../src/cache/tiered-cache.ts';
import { systemNames } from '../../src/names/names.ts';
import { type PurgeEvent, Purges } from '../../src/purge/purges.ts';
import { type ConnectedRedis, connectRedis } from '../../src/redis/connect.ts';
import { anEntry } from '../support/entry.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

const HOUR = 3_600_000;
const KEY = banKeysOf('test').bans;

let server: RedisServer;
let redis: Redis;
let connection: ConnectedRedis;
const open: Purges[] = [];

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  connection = connectRedis({ names: systemNames(), url: server.url, connectTimeoutMs: 5000, commandTimeoutMs: 5000 });
  await connection.ready();
});
afterEach(async () => {
  for (const purges of open.splice(0)) purges.close();
  await redis.flushall();
});
afterAll(async () => {
  redis.disconnect();
  await connection.close();
  await server.stop();
});

/** One instance on this Redis. The words of a key are its tags. */
class Instance {
  readonly events: PurgeEvent[] = [];
  /** While false, commands do not reach Redis. */
  isReached = true;
  /** While false, the replies of Redis are lost. */
  isAnswered = true;
  /** The lead of its clock over Redis' time. */
  aheadMs = 0;
  /** The lengths of the lists of bans in the replies of Redis. */
  readonly received: number[] = [];
  /** Redis' time at its first reply. */
  firstReplyAt = 0;
  readonly purges: Purges;

  constructor(usableMs = 0) {
    this.purges = new Purges({
      now: () => Date.now() + this.aheadMs,
      runScript: (...call) => this.#run(call),
      monotonic: () => performance.now(),
      onServerTime: (time) => {
        this.firstReplyAt ||= Math.floor(time);
      },
      report: (event) => void this.events.push(event),
      keys: banKeysOf('test'),
      usableMs,
    });
    open.push(this.purges);
  }

  async #run(call: Parameters<ConnectedRedis['runScript']>): Promise<unknown> {
    if (!this.isReached) throw new Error('away');
    const reply = await connection.runScript(...call);
    if (!Array.isArray(reply)) return reply;
    this.received.push(reply[3].length / 2);
    if (!this.isAnswered) throw new Error('lost');
    return reply;
  }

  async connect(): Promise<void> {
    this.purges.onRedisTransition({ state: 'disconnected' });
    expect(this.purges.isCurrent).toBe(false);
    this.purges.onRedisTransition({ state: 'connected' });
    expect(this.purges.isCurrent).toBe(false);
    await expect.poll(() => this.purges.isCurrent).toBe(true);
  }

  purge(tag: string) {
    return this.purges.purge({ selector: 'hash', value: tag, tag });
  }

  until(tag: string): number {
    return this.purges.bans.purgedUntil([tag]);
  }
}

async function connected(usableMs?: number): Promise<Instance> {
  const instance = new Instance(usableMs);
  await instance.connect();
  return instance;
}

describe('a purge', () => {
  it('covers answers requested just before it by a clock 4 ms ahead, and none from 6 ms after it', async () => {
    const [right, ahead] = [new Instance(), new Instance()];
    ahead.aheadMs = 4;
    const { at } = await right.purge('a');
    await ahead.connect();
    expect(at).toBe(right.firstReplyAt + 5);
    for (const { purges } of [right, ahead]) {
      expect(purges.bans.applyBans(anEntry({ key: 'a', askedAt: right.firstReplyAt + 4 }), ['a'])).toBeUndefined();
      const after = anEntry({ key: 'a', askedAt: right.firstReplyAt + 6 });
      expect(purges.bans.applyBans(after, ['a'])).toBe(after);
    }
  });

  it('receives only its own ban from Redis, which holds many others', async () => {
    await redis.zadd(KEY, ...Array.from({ length: 500 }, (_, index) => [Date.now() - 1000, `t${index}`]).flat());
    const one = new Instance();
    await Promise.all(Array.from({ length: 50 }, (_, index) => one.purge(`mine${index}`)));
    expect(one.received).toEqual(Array(50).fill(1));
  });
});

describe('the instances that a purge reaches', () => {
  const INSTANCES = banKeysOf('test').instances;

  it('are those that have exchanged bans in the last 2 s, and all others are forgotten', async () => {
    const [one] = [await connected(), await connected()];
    const now = Date.now();
    await redis.zadd(INSTANCES, now - 2500, 'gone', now - 1000, 'slow');
    expect((await one.purge('a')).instances).toBe(3);
    expect(await redis.zscore(INSTANCES, 'gone')).toBeNull();
  });

  it('leave nothing behind in Redis when the last one has gone', async () => {
    await connected();
    expect(await redis.pttl(INSTANCES)).toSatisfy((ms: number) => ms > 0 && ms <= 2000);
  });

  it('are unknown if Redis cannot report them, and the purge still succeeds', async () => {
    const one = await connected();
    await redis.del(INSTANCES);
    await redis.set(INSTANCES, 'no set');
    expect(await one.purge('a')).toMatchObject({ notReached: undefined, instances: undefined });
  });
});

describe('the instances with polls', () => {
  it('are those that said so in the last 2 s, each for itself', async () => {
    const [one, other, third] = [await connected(), await connected(), await connected()];
    one.purges.say(() => ['blocks', 'owners']);
    other.purges.say(() => ['blocks']);
    third.purges.say(() => []);
    await redis.zadd(banKeysOf('test').polled, Date.now() - 2500, 'blocks gone');
    const counts = () => ['blocks', 'owners', 'others'].map((what) => third.purges.instancesPolling(what));
    await expect.poll(counts, { timeout: 10_000 }).toEqual([2, 1, 0]);
    one.purges.say(() => []);
    await expect.poll(counts, { timeout: 10_000 }).toEqual([1, 0, 0]);
  });

  it('are unknown without Redis, or if it cannot report them: then an instance counts alone', async () => {
    const one = await connected();
    one.purges.say(() => ['blocks']);
    await expect.poll(() => one.purges.instancesPolling('blocks'), { timeout: 10_000 }).toBe(1);
    await redis.del(banKeysOf('test').polled);
    await redis.set(banKeysOf('test').polled, 'no set');
    await expect.poll(() => one.purges.instancesPolling('blocks'), { timeout: 10_000 }).toBe(0);
    expect(one.purges.isCurrent).toBe(true);
  });
});

describe('while Redis does not answer', () => {
  it('a purge that is sent again because its reply was lost keeps its instant', async () => {
    const [unheard, other] = [await connected(), await connected()];
    unheard.isAnswered = false;
    expect((await unheard.purge('a')).notReached).toBe('lost');
    await expect.poll(() => other.until('a')).toBeGreaterThan(0);
    const at = other.until('a');
    unheard.isAnswered = true;
    await expect.poll(() => unheard.until('a')).toBe(at);
    expect(other.until('a')).toBe(at);
  });

  it('a purge that did not reach Redis is sent again soon, even without a reconnect', async () => {
    const one = await connected();
    await expect.poll(() => one.received.at(-1)).toBe(0);
    one.isReached = false;
    expect((await one.purge('a')).notReached).toBe('away');
    one.isReached = true;
    await expect.poll(() => redis.zscore(KEY, 'a')).not.toBeNull();
  });

  it('purges of other instances are missed, and are received at the next connect, however old they are', async () => {
    const cut = await connected();
    cut.isReached = false;
    const other = await connected();
    const { at } = await other.purge('a');
    await redis.zadd(KEY, Date.now() - HOUR, 'newcomer');
    cut.isReached = true;
    await cut.connect();
    expect([cut.until('a'), cut.until('newcomer')]).toEqual([at, expect.toSatisfy((newcomer) => Number(newcomer) > 0)]);
  });
});

describe('purges that Redis lost', () => {
  it.each([
    ['everything', () => redis.flushall()],
    ['the last write', () => redis.zrem(KEY, 'last', 'changed')],
    ['the later of two instants of a ban', () => redis.zadd(KEY, Date.now() - 1000, 'last', 1, 'changed')],
  ])('are sent again by an instance that knows them, with their instants: %s', async (_, lose) => {
    const one = await connected();
    const at = { first: (await one.purge('first')).at, last: (await one.purge('last')).at };
    await lose();
    // Without a lost connection too.
    await expect.poll(() => redis.zscore(KEY, 'last')).toBe(String(at.last));
    const newcomer = await connected();
    expect({ first: newcomer.until('first'), last: newcomer.until('last') }).toEqual(at);
  });

  it('are in Redis again before an instance uses its entries', async () => {
    const one = await connected();
    for (let index = 0; index < 2500; index++) void one.purge(`t${index}`);
    await expect.poll(() => redis.zcard(KEY)).toBe(2501);
    await redis.flushall();
    await one.connect();
    expect(await redis.zcard(KEY)).toBe(2501);
  });
});

describe('bans in Redis', () => {
  it('are read only when they have changed', async () => {
    const one = await connected();
    await one.purge('a');
    await expect.poll(() => one.received.slice(-3)).toEqual([0, 0, 0]);
  });

  it('are kept an hour longer than any entry, and for at least 25 h; bans from a clock far ahead are ignored', async () => {
    const now = Date.now();
    await redis.zadd(KEY, ...[now - 48.9 * HOUR, 'old', now - 49.1 * HOUR, 'older']);
    const long = await connected(48 * HOUR);
    expect([long.until('old') > 0, long.until('older')]).toEqual([true, 0]);
    await redis.zadd(KEY, ...[now - 24.9 * HOUR, 'young', now + HOUR, 'ahead', '+inf', 'infinite']);
    const short = await connected();
    expect([short.until('young') > 0, short.until('old'), short.until('ahead')]).toEqual([true, 0, 0]);
    expect(await redis.zrange(KEY, '0', '-1')).toEqual(['young']);
  });

  it('expire a minute after no instance needs them any more, whichever instance purges last', async () => {
    const lasting = () => redis.pttl(KEY);
    await (await connected()).purge('a');
    expect(await lasting()).toSatisfy((ms: number) => ms > 25 * HOUR && ms <= 25 * HOUR + 60_000);
    await (await connected(48 * HOUR)).purge('b');
    expect(await lasting()).toSatisfy((ms: number) => ms > 49 * HOUR && ms <= 49 * HOUR + 60_000);
    await (await connected()).purge('c');
    expect(await lasting()).toBeGreaterThan(49 * HOUR);
  });

  it('are read from a Redis that accepts no writes, and a purge is sent again once it accepts them', async () => {
    await redis.zadd(KEY, Date.now(), 'theirs');
    await redis.config('SET', 'min-replicas-to-write', '1');
    const one = await connected();
    expect(one.until('theirs')).toBeGreaterThan(0);
    expect((await one.purge('a')).notReached).toMatch(/^NOREPLICAS/);
    // It is sent again with the next read of bans, and not accepted again.
    const { length } = one.received;
    await expect.poll(() => one.received.length).toBeGreaterThan(length + 1);
    await redis.config('SET', 'min-replicas-to-write', '0');
    await expect.poll(() => redis.zscore(KEY, 'a')).not.toBeNull();
  });
});

it.each([null, 'OK', [], [1, '', null, []], ['x', '', '', []], [Number.NaN, '', '', []], [1, '', '', null]])(
  'a malformed reply from Redis fails the purge: %j',
  async (reply) => {
    const purges = new Purges({
      now: Date.now,
      runScript: async () => reply,
      monotonic: () => performance.now(),
      onServerTime: () => {},
      report: () => {},
      keys: banKeysOf('test'),
      usableMs: 0,
    });
    open.push(purges);
    purges.onRedisTransition({ state: 'connected' });
    expect((await purges.purge({ selector: 'all', value: true, tag: '*' })).notReached).toMatch(/no bans/);
    expect(purges.isCurrent).toBe(false);
  },
);

it('a connected instance that can no longer read bans serves nothing from Redis, until it can again', async () => {
  const instance = new Instance();
  await instance.connect();
  const now = () => Date.now();
  const entry = anEntry({ askedAt: now() });
  const cache = new TieredCache({
    memory: new MemoryTier({ now, maxSizeBytes: 1_000_000 }),
    // The cast: a look-up uses only `get`.
    redis: { get: async () => ({ state: 'found', entry }) } as unknown as RedisTier,
    purges: instance.purges,
    hasReached: () => false,
    olderAnswers: { look: () => {} },
    now,
  });
  instance.isReached = false;
  await instance.purges.exchange();
  expect(await cache.lookUp(entry.key, [])).toEqual({ state: 'miss' });
  instance.isReached = true;
  await instance.purges.exchange();
  expect(await cache.lookUp(entry.key, [])).toMatchObject({ state: 'fresh', tier: 'redis' });
});
