import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { someNetwork } from '../support/some-network.ts';
import type { Reply } from '../support/start-proxy.ts';
import { purged } from './purge-world.ts';
import {
  childrenOfSettled,
  newestBlock,
  parentOfSettled,
  pendingTrace,
  sendTrace,
  settledTrace,
  targetOf,
  unknownTransaction,
} from './questions.ts';
import { DIALECTS, World } from './world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe.each(DIALECTS)('one Redis, with indexer %s', (dialect) => {
  let world: World;
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
  });
  afterAll(() => void redis.disconnect());
  beforeEach(async () => {
    world = await World.start({ dialect, tiers: 'memory and Redis' });
  });
  afterEach(() => world[Symbol.asyncDispose]());

  function keys(): Promise<string[]> {
    return redis.keys(`*${world.network}*`);
  }

  /** Some answers of each kind that live long enough to be found again. */
  function lastingTargets(): string[] {
    const seqno = world.indexer.chain.headSeqno;
    const blockSets = Array.from({ length: 20 }, (_, back) =>
      targetOf('masterchainBlockShards', { seqno: seqno - back }),
    );
    const children = settledTrace(world).transactions.filter(({ parent }) => parent !== undefined);
    const parents = children.map(({ hash }) => targetOf('adjacentTransactions', { hash, direction: 'in' }));
    return [...blockSets, ...parents];
  }

  it('lets a new instance answer byte for byte, without a request to the indexer', async () => {
    const targets = lastingTargets();
    const known: Reply[] = [];
    // One after the other: the concurrency of the indexer is a separate subject.
    for (const target of targets) known.push(await world.ask(target));
    expect(known.map(({ status, cache }) => [status, cache['stored']])).toEqual(targets.map(() => [200, true]));
    await world.proxy.close();
    const restarted = await world.addProxy();
    world.indexer.requests.reset();
    for (const [place, target] of targets.entries()) {
      const { status, digest, headers } = known[place] ?? {};
      const reply = await world.ask(target, {}, restarted);
      expect(reply).toMatchObject({ status, digest, cache: { hit: true, detail: 'redis' } });
      for (const name of ['etag', 'cache-control', 'content-type', 'x-api-version'] as const) {
        expect([target, name, reply.headers[name]]).toEqual([target, name, headers?.[name]]);
      }
      expect(reply.headers).toHaveProperty('x-request-id');
      expect((await world.ask(target, {}, restarted)).cache).toMatchObject({ hit: true, detail: 'memory' });
    }
    expect(world.forwarded).toEqual([]);
  });

  it('is shared by instances with different indexers of one network', async () => {
    const target = newestBlock(world);
    const { digest } = await world.ask(target);
    await world.proxy.untilRedisHasAll();
    const replica = await startIndexer({ dialect });
    try {
      const beside = await world.addProxy({ upstreamUrl: replica.url });
      replica.requests.reset();
      expect(await world.ask(target, {}, beside)).toMatchObject({ digest, cache: { hit: true, detail: 'redis' } });
      expect(replica.requests.total).toBe(0);
    } finally {
      await replica.close();
    }
  });

  it('shares no entries between two networks, even with the same indexer', async () => {
    const target = newestBlock(world);
    await world.ask(target);
    await world.proxy.untilRedisHasAll();
    const foreign = await world.addProxy({ env: { NETWORK: someNetwork() } });
    expect((await world.ask(target, {}, foreign)).cache).toMatchObject({ fwd: 'miss', stored: true });
    await world.proxy.close();
    const back = await world.addProxy();
    expect((await world.ask(target, {}, back)).cache).toMatchObject({ hit: true, detail: 'redis' });
  });

  it('holds each variant as an entry of its own', async () => {
    const target = childrenOfSettled(world);
    const bare = { headers: { 'X-No-Address-Book': 'true' } };
    const [whole, without] = [await world.ask(target), await world.ask(target, bare)];
    expect(without.digest).not.toBe(whole.digest);
    await world.proxy.untilRedisHasAll();
    const other = await world.addProxy();
    expect((await world.ask(target, bare, other)).digest).toBe(without.digest);
    expect((await world.ask(target, {}, other)).digest).toBe(whole.digest);
  });

  it('expires every key after its lifetime and the longer stale window', async () => {
    const cases: [string, number][] = [
      // The transactions of a masterchain block are a page, its blocks are final.
      [newestBlock(world), dialect === 'spec' ? 70 * MINUTE : 48 * HOUR],
      [parentOfSettled(world), 25 * HOUR],
      [unknownTransaction(), 300],
      [pendingTrace(world), 2_400],
    ];
    for (const [target, longestMs] of cases) {
      const before = new Set(await keys());
      await world.ask(target);
      await world.proxy.untilRedisHasAll();
      const added = (await keys()).filter((key) => !before.has(key));
      // An entry with a lifetime below a second may be gone by now.
      if (longestMs > HOUR) expect(added).toHaveLength(1);
      for (const key of added) {
        const expiresMs = await redis.pttl(key);
        expect(expiresMs).toBeLessThanOrEqual(longestMs);
        if (longestMs > HOUR) expect(expiresMs).toBeGreaterThan(longestMs - MINUTE);
        else expect(expiresMs).not.toBe(-1);
      }
    }
  });

  it('holds nothing without an expiry, after a purge and with a shared rate', async () => {
    const limited = await world.addProxy({ env: { UPSTREAM_RPS: '100' } });
    for (const target of lastingTargets().slice(0, 3)) await world.ask(target, {}, limited);
    await purged(limited, { seqno: 7 });
    await limited.untilRedisHasAll();
    const all = await keys();
    for (const part of [':bans:', ':instances']) expect(all.join()).toContain(part);
    expect((await Promise.all(all.map((key) => redis.pttl(key)))).filter((ms) => ms === -1)).toEqual([]);
  });

  it('that lost an entry leaves the one in memory, which is served for its whole lifetime', async () => {
    const target = parentOfSettled(world);
    await world.ask(target);
    await redis.del(await keys());
    await world.leap(50 * MINUTE);
    expect((await world.ask(target)).cache).toMatchObject({ hit: true, detail: 'memory' });
    await world.leap(25 * HOUR);
    expect((await world.ask(target)).cache).toMatchObject({ fwd: 'miss', stored: true });
  });

  it('does not displace the answer of a slow load from memory, if a later load has the lease and Redis an older copy', async () => {
    const slow = await world.addProxy({ overrides: { coalescing: { collapseWindow: 50 } } });
    const target = parentOfSettled(world);
    await world.ask(target, {}, slow);
    await world.leap(2 * HOUR);
    const gate = world.indexer.hold();
    const first = await slow.sendIn(target);
    await gate.arrived(1);
    world.advance(50);
    const second = await slow.sendIn(target);
    await gate.arrived(2);
    gate.release(1);
    expect((await first.answer).status).toBe(200);
    await slow.untilRedisHasAll();
    expect((await world.ask(target, {}, slow)).cache).toMatchObject({ hit: true, detail: 'memory' });
    gate.release();
    expect((await second.answer).status).toBe(200);
  });

  it('does not extend a lifetime: for an instance that finds an entry there, it ends at the same instant', async () => {
    const target = parentOfSettled(world);
    await world.ask(target);
    await world.leap(0.5 * HOUR);
    const newcomer = await world.addProxy();
    const found = await world.ask(target, {}, newcomer);
    expect(found.cache).toEqual({ hit: true, ttl: 1800, detail: 'redis' });
    expect(found.headers).toMatchObject({ age: '1800', 'cache-control': 'public, max-age=3600' });
    world.indexer.faults.inject({ kind: 'reset' });
    await world.leap(0.5 * HOUR + 1);
    expect((await world.ask(target, {}, newcomer)).cache['ttl']).toBe(-1);
    // The refresh must not last through the leap: it would end by its timeout.
    await expect
      .poll(() =>
        newcomer.metric('upstreamRequests', {
          operation: 'adjacentTransactions',
          result: 'upstream-reset',
        }),
      )
      .toBe(2);
    await expect.poll(() => newcomer.metric('upstreamInFlight')).toBe(0);
    await world.leap(24 * HOUR - 2);
    expect(await world.ask(target, {}, newcomer)).toMatchObject({ status: 200, cache: { fwd: 'stale' } });
    await world.leap(1);
    expect((await world.ask(target, {}, newcomer)).status).toBe(502);
  });

  it.each([
    ['to serve while it refreshes', HOUR + 5000, false, { hit: true, ttl: -5, detail: 'redis' }],
    ['to serve when the indexer fails', 2 * HOUR, true, { fwd: 'stale', ttl: -3600 }],
    ['to replace, which fwd=stale reports', 2 * HOUR, false, { fwd: 'stale', 'fwd-status': 200, stored: true }],
  ])('gives a new instance a stale answer %s', async (_, ageMs, fails, cache) => {
    const target = parentOfSettled(world);
    await world.ask(target);
    await world.leap(ageMs);
    await world.proxy.close();
    const newcomer = await world.addProxy();
    world.indexer.requests.reset();
    if (fails) world.indexer.faults.inject({ kind: 'reset' });
    expect(await world.ask(target, {}, newcomer)).toMatchObject({ status: 200, cache });
    await world.indexer.requests.arrived(1);
  });

  it('stores an answer that is too large for memory', async () => {
    await using small = await world.addProxy({ env: { MEMORY_MAX_SIZE: '1MiB', NETWORK: someNetwork() } });
    world.indexer.faults.inject({ kind: 'huge', bytes: 100_000 });
    const target = targetOf('masterchainBlockShards', { seqno: sendTrace(world).transactions[0]?.seqno ?? 0 });
    world.now += 10_000;
    expect((await world.ask(target, {}, small)).cache).toMatchObject({ fwd: 'miss', stored: true });
    await small.untilRedisHasAll();
    for (let time = 0; time < 2; time++) {
      expect((await world.ask(target, {}, small)).cache).toMatchObject({ hit: true, detail: 'redis' });
    }
  });
});
