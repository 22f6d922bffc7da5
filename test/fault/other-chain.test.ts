import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { childrenOfSettled, newestBlock, settledParent, targetOf, unknownTransaction } from '../e2e/questions.ts';
import { World } from '../e2e/world.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { PATIENT_ADMISSION } from './faulty-world.ts';

const OPTIONS = {
  stopsTime: true,
  overrides: { admission: PATIENT_ADMISSION, coalescing: { failureTtl: 60_000 } },
};

let world: World;
let redis: Redis;
/** An indexer for one instance, which follows another chain than the instance after `changeChain`. */
let foreign: Indexer;
let lost: RunningProxy;

beforeEach(async () => {
  redis = new Redis(inject('redisUrl'));
  world = await World.start({ dialect: '1.3', tiers: 'memory and Redis', proxy: OPTIONS });
  foreign = await startIndexer({ chain: world.indexer.chain, now: () => world.now });
  lost = await world.addProxy({ ...OPTIONS, upstreamUrl: foreign.url });
  await lost.ask(childrenOfSettled(world));
  await world.untilHeadKnown(lost);
});

afterEach(async () => {
  await world[Symbol.asyncDispose]();
  await foreign.close();
  redis.disconnect();
});

/** The contents of Redis, by key, without entries that expire within a second. */
async function inRedis(): Promise<Map<string, string>> {
  await Promise.all([world.proxy, lost].map((proxy) => proxy.untilRedisHasAll()));
  const keys = (await redis.keys(`toncache:1*${world.network}*`)).filter((key) => !key.endsWith(':lease'));
  const values = await Promise.all(keys.map((key) => redis.getBuffer(key)));
  return new Map(keys.map((key, place) => [key, String(values[place]?.toString('base64'))]));
}

/** From now on its `masterchainInfo` names another chain, and the instance knows. */
async function changeChain(): Promise<void> {
  foreign.faults.inject({ kind: 'head', globalId: -3 }, { operation: 'masterchainInfo' });
  const indexer = new URL(foreign.url).host;
  await expect
    .poll(async () => {
      world.advance(10_000);
      await lost.ask(childrenOfSettled(world));
      return await lost.metric('toncache_condition', { upstream: indexer, name: 'other-chain' });
    })
    .toBe(1);
}

it('an answer of an indexer that follows another chain stays in the memory of its instance', async () => {
  await changeChain();
  const before = await inRedis();
  const target = newestBlock(world);
  expect(await world.ask(target, {}, lost)).toMatchObject({ status: 200, cache: { stored: true } });
  expect((await world.ask(target, {}, lost)).cache).toMatchObject({ hit: true, detail: 'memory' });
  expect([...(await inRedis()).keys()].filter((key) => !before.has(key))).toEqual([]);
  expect((await world.ask(target)).cache).toMatchObject({ fwd: 'miss', 'fwd-status': 200, stored: true });
});

it.each([400, 500])(
  'a failure (%i) of an indexer that follows another chain is not shared with other instances',
  async (status) => {
    await changeChain();
    const fault = failed(status, 'json', undefined, { error: 'of this chain' });
    foreign.faults.inject(fault, { operation: 'masterchainBlockShards' });
    const target = newestBlock(world);
    expect((await world.ask(target, {}, lost)).status).toBe(status);
    expect((await world.ask(target)).status).toBe(200);
  },
);

it('an instance that waits for the load of an instance on another chain loads its own answer', async () => {
  await changeChain();
  const target = newestBlock(world);
  const gate = foreign.hold('masterchainBlockShards');
  const asking = world.ask(target, {}, lost);
  await gate.arrived(1);
  const waiting = world.ask(target);
  await expect.poll(() => world.proxy.metric('toncache_lease_waits_total')).toBe(1);
  gate.release();
  expect((await asking).status).toBe(200);
  expect((await waiting).cache).toMatchObject({ fwd: 'miss', 'fwd-status': 200, stored: true });
});

it('the kept answer is served instead of a regressed one of an indexer on another chain, and Redis is unchanged', async () => {
  const others = await inRedis();
  const target = targetOf('adjacentTransactions', { hash: settledParent(world).hash });
  await world.ask(target);
  const [key = ''] = [...(await inRedis()).keys()].filter((each) => !others.has(each));
  expect((await world.ask(target, {}, lost)).cache).toMatchObject({ hit: true, detail: 'redis' });
  await changeChain();
  const before = (await inRedis()).get(key);
  foreign.faults.inject(failed(404), { operation: 'adjacentTransactions' });
  const regressed = () => lost.metric('toncache_answers_regressed_total', { operation: 'adjacentTransactions' });
  await expect
    .poll(async () => {
      world.advance(1000);
      expect((await world.ask(target, {}, lost)).status).toBe(200);
      return await regressed();
    })
    .toBeGreaterThan(0);
  expect((await inRedis()).get(key)).toEqual(before);
});

it('once an indexer follows the right chain again, its new answers are shared', async () => {
  await changeChain();
  const target = newestBlock(world);
  await lost.ask(target);
  foreign.faults.clear();
  await expect
    .poll(async () => {
      world.advance(10_000);
      await lost.ask(unknownTransaction());
      await lost.ask(childrenOfSettled(world));
      return await lost.metric('toncache_condition', { upstream: new URL(foreign.url).host, name: 'other-chain' });
    })
    .toBe(0);
  const next = newestBlock(world);
  await lost.ask(next);
  await lost.untilRedisHasAll();
  expect((await world.ask(next)).cache).toMatchObject({ hit: true, detail: 'redis' });
  expect((await world.ask(target)).cache).toMatchObject({ fwd: 'miss' });
});
