import { afterEach, describe, expect, it } from 'vitest';
import type { RunningProxy } from '../support/start-proxy.ts';
import { targetOf, unknownTransaction } from './questions.ts';
import { ANY_WORLD, World, type WorldOptions } from './world.ts';

const INFO = '/api/v3/masterchainInfo';
/** The time between committed blocks; a 404 lives for 300 ms. */
const BLOCK_MS = 400;

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

/**
 * A world 200 ms before its next block, which has a 404 in the cache, and then this block. Returns the target of the
 * request, and as many other instances.
 */
async function awaitBlock(options: Partial<WorldOptions> = {}, others = 0): Promise<[string, ...RunningProxy[]]> {
  world = await World.start({
    ...ANY_WORLD,
    ...options,
    proxy: { env: { PASSTHROUGH: 'on' }, ...options.proxy },
  });
  // Each learns the head at its start.
  const proxies: RunningProxy[] = [];
  for (let other = 0; other < others; other++) proxies.push(await world.addProxy(options.proxy));
  world.advance(BLOCK_MS / 2);
  const target = targetOf('masterchainBlockShards', { seqno: world.indexer.chain.headSeqno + 1 });
  expect((await world.ask(target)).status).toBe(404);
  world.advance(BLOCK_MS / 2);
  expect((await world.askIndexer(target)).status).toBe(200);
  return [target, ...proxies];
}

/** Lets a proxy see the newest block, as by a client's request. */
async function seeHead(proxy: RunningProxy = world.proxy): Promise<void> {
  const info = JSON.parse((await proxy.ask(INFO)).text);
  expect(info.last.seqno).toBe(world.indexer.chain.headSeqno);
}

describe('a cached 404 for a block', () => {
  it.each([true, false])('is not served once the head has reached the block, fast lane %s', async (fastLane) => {
    const [target] = await awaitBlock({ proxy: { env: { PASSTHROUGH: 'on' }, overrides: { http: { fastLane } } } });
    expect(await world.ask(target)).toMatchObject({ status: 404, cache: { hit: true } });
    await seeHead();
    expect((await world.ask(target)).status).toBe(200);
  });

  it('is not served once another answer has shown the block', async () => {
    const [target] = await awaitBlock();
    const { headSeqno } = world.indexer.chain;
    expect((await world.ask(targetOf('masterchainBlockShards', { seqno: headSeqno, limit: 50 }))).status).toBe(200);
    expect((await world.ask(target)).status).toBe(200);
  });

  it('is served neither from Redis nor from its copy in memory once the instance has seen the head', async () => {
    // Redis counts real time.
    const notFound = { lifetime: 600_000, staleWhileRevalidate: 0, staleIfError: 0 };
    const proxy = { env: { PASSTHROUGH: 'on' }, overrides: { rows: { notFound } } };
    const [target, other, third] = await awaitBlock({ tiers: 'memory and Redis', proxy }, 2);
    await world.proxy.untilRedisHasAll();
    const fromRedis = { status: 404, cache: { hit: true, detail: 'redis' } };
    expect(await world.ask(target, {}, other)).toMatchObject(fromRedis);
    await seeHead(other);
    // Before the block is in Redis.
    await seeHead(third);
    expect((await world.ask(target, {}, third)).status).toBe(200);
    expect((await world.ask(target, {}, other)).status).toBe(200);
    // It has not seen the head.
    expect(await world.ask(target)).toMatchObject({ status: 404, cache: { hit: true, detail: 'memory' } });
  });

  it('is not served stale once the head has reached the block', async () => {
    const notFound = { lifetime: 300, staleWhileRevalidate: 0, staleIfError: 10_000 };
    const [target] = await awaitBlock({
      proxy: { env: { PASSTHROUGH: 'on' }, overrides: { rows: { notFound } } },
    });
    world.advance(300);
    world.indexer.faults.inject({ kind: 'reset' }, { operation: 'masterchainBlockShards' });
    expect((await world.ask(target)).status).toBe(404);
    await seeHead();
    expect((await world.ask(target)).status).toBe(502);
  });

  it('is not served to a client whose request arrives during the load, but after the head was seen', async () => {
    world = await World.start({ ...ANY_WORLD, proxy: { env: { PASSTHROUGH: 'on' } } });
    world.advance(BLOCK_MS / 2);
    const target = targetOf('masterchainBlockShards', { seqno: world.indexer.chain.headSeqno + 1 });
    const notFound = { kind: 'answer', status: 404, body: '{"error":"blocks not found"}' } as const;
    world.indexer.faults.inject(notFound, { operation: 'masterchainBlockShards', times: 1 });
    const gate = world.indexer.hold('masterchainBlockShards');
    const first = world.ask(target);
    await gate.arrived(1);
    world.advance(BLOCK_MS / 2);
    await seeHead();
    const second = await world.proxy.sendIn(target);
    gate.release();
    expect((await first).status).toBe(404);
    expect((await second.answer).status).toBe(200);
  });

  it('is served for its lifetime if the head had reached the block before the request', async () => {
    world = await World.start({ ...ANY_WORLD, proxy: { env: { PASSTHROUGH: 'on' } } });
    await seeHead();
    // Before the first kept block.
    const target = targetOf('masterchainBlockShards', { seqno: 1 });
    expect((await world.ask(target)).status).toBe(404);
    world.advance(200);
    await seeHead();
    expect(await world.ask(target)).toMatchObject({ status: 404, cache: { hit: true } });
    expect(world.forwardedFor(target)).toHaveLength(1);
  });
});

describe('a head that an instance reads from Redis', () => {
  const env = { CACHE_OPERATIONS: 'all' };
  /** Redis counts real time: a minute of the test's clock passes immediately. */
  const notFound = { lifetime: 600_000, staleWhileRevalidate: 0, staleIfError: 0 };
  const shared = { tiers: 'memory and Redis', proxy: { env, overrides: { rows: { notFound } } } } as const;

  /** Two instances that have seen the head, one of which has the 404 for the next block, which exists by now. */
  async function awaitInBoth(): Promise<[target: string, one: RunningProxy]> {
    world = await World.start({ ...ANY_WORLD, ...shared });
    const other = await world.addProxy(shared.proxy);
    // Each has polled the head of the indexer.
    for (const proxy of [world.proxy, other]) {
      world.advance(20_000);
      expect((await world.ask(INFO, {}, proxy)).cache).toMatchObject({ stored: true });
    }
    world.advance(BLOCK_MS / 2);
    const seqno = world.indexer.chain.headSeqno + 1;
    const awaited = targetOf('masterchainBlockShards', { seqno });
    expect((await world.ask(awaited)).text).not.toContain('"seqno"');
    world.advance(BLOCK_MS / 2);
    return [awaited, other];
  }

  it('ends a cached 404 for a block once a client has read a later block there', async () => {
    const [awaited, other] = await awaitInBoth();
    world.advance(BLOCK_MS);
    expect((await world.ask(INFO, {}, other)).status).toBe(200);
    await other.untilRedisHasAll();
    expect(await world.ask(awaited)).toMatchObject({ status: 404, cache: { hit: true, detail: 'memory' } });
    expect((await world.ask(INFO)).cache).toMatchObject({ hit: true, detail: 'redis' });
    expect((await world.ask(awaited)).status).toBe(200);
  });

  it('does not change the newest block that the instance reports for the indexer', async () => {
    const [, other] = await awaitInBoth();
    world.advance(BLOCK_MS);
    const newest = () => world.proxy.metric('headSeqno');
    const before = await newest();
    await world.ask(INFO, {}, other);
    await other.untilRedisHasAll();
    expect((await world.ask(INFO)).cache).toMatchObject({ hit: true, detail: 'redis' });
    expect(await newest()).toBe(before);
  });
});

it('a cached 404 for a hash does not depend on the head', async () => {
  world = await World.start({ ...ANY_WORLD, proxy: { env: { PASSTHROUGH: 'on' } } });
  world.advance(BLOCK_MS / 2);
  const target = unknownTransaction();
  await world.ask(target);
  world.advance(BLOCK_MS / 2);
  await seeHead();
  expect(await world.ask(target)).toMatchObject({ status: 404, cache: { hit: true } });
});
