import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { withoutBlocks } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { childrenOfSettled, newestBlock, targetOf, unknownTransaction } from '../e2e/questions.ts';
import { World, type WorldProxyOptions } from '../e2e/world.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { PATIENT_ADMISSION } from './faulty-world.ts';

const OPTIONS = {
  stopsTime: true,
  env: { PASSTHROUGH: 'on', CACHE_OPERATIONS: 'all' },
  overrides: { admission: PATIENT_ADMISSION },
};
const INFO = '/api/v3/masterchainInfo';
/** Other files of tests use networks of their own. */
const OF_MAINNET = 'toncache:1*mainnet*';
const REFUSED = { status: 503, cache: { detail: 'overloaded' } };

let world: World;
let redis: Redis;
/** An indexer that names another chain than that of the world. */
let foreign: Indexer;

beforeEach(async () => {
  redis = new Redis(inject('redisUrl'));
  const earlier = await redis.keys(OF_MAINNET);
  if (earlier.length > 0) await redis.del(earlier);
  world = await World.start({ dialect: '1.3', tiers: 'memory and Redis', proxy: OPTIONS });
  foreign = await startIndexer({ chain: world.indexer.chain, now: () => world.now });
  nameAnother();
});

afterEach(async () => {
  await world[Symbol.asyncDispose]();
  await foreign.close();
  redis.disconnect();
});

/** An instance of the mainnet with Redis, in front of the foreign indexer. */
const addLost = (options: WorldProxyOptions = {}) =>
  world.addProxy({
    ...OPTIONS,
    upstreamUrl: foreign.url,
    ...options,
    env: { ...OPTIONS.env, NETWORK: 'mainnet', ...options.env },
  });

const nameAnother = () => foreign.faults.inject({ kind: 'head', globalId: -3 }, { operation: 'masterchainInfo' });

/** From now on its head polls fail. */
function withoutHead() {
  foreign.faults.clear();
  return foreign.faults.inject({ kind: 'reset' }, { operation: 'masterchainInfo' });
}

/** The number of requests to the foreign indexer, without head polls. */
const askedForeign = () => foreign.requests.total - foreign.requests.count('masterchainInfo');

/** The entries of the mainnet in Redis. */
async function inRedis(proxy: RunningProxy): Promise<string[]> {
  await proxy.untilRedisHasAll();
  return (await redis.keys(OF_MAINNET)).filter((key) => !key.endsWith(':lease'));
}

describe('an indexer that follows another chain than NETWORK', () => {
  it('gets nothing but its head poll: no loads, no passed requests, no streams, with any key', async () => {
    const lost = await addLost();
    const before = askedForeign();
    for (const target of [newestBlock(world), unknownTransaction(), childrenOfSettled(world), INFO]) {
      expect(await world.ask(target, {}, lost)).toMatchObject(REFUSED);
    }
    const passed = ['/api/v3/addressBook?address=x', '/api/streaming/v2/sse'];
    for (const target of passed) {
      for (const headers of [{}, { 'X-Api-Key': 'of the client' }]) {
        const { status, text } = await lost.ask(target, { headers });
        expect([target, status, text]).toEqual([target, 503, expect.stringContaining('NETWORK')]);
      }
    }
    expect(askedForeign()).toBe(before);
    expect(await inRedis(lost)).toEqual([]);
  });

  it('is named with NETWORK by the status page, the log and the failures of clients', async () => {
    const lost = await addLost({ stopsTime: false });
    const cause = 'the indexer follows another chain than NETWORK (global_id -3)';
    await expect
      .poll(
        async () => {
          for (let time = 0; time < 10; time++) {
            const { text } = await lost.ask(unknownTransaction());
            expect(text).toBe('{"error":"the indexer follows another chain than NETWORK of this proxy"}');
          }
          return JSON.parse((await lost.askAdmin('/status.json')).text);
        },
        { interval: 200 },
      )
      .toMatchObject({ level: 'FAILING', says: expect.stringContaining(cause.slice(1)) });
    expect(lost.log.map(({ msg }) => msg)).toContainEqual(expect.stringContaining(cause.slice(1)));
    expect(await lost.metric('condition', { name: 'other-chain' })).toBe(1);
  });

  it('is polled every 10 s while clients send requests, and used again once it is corrected', async () => {
    const lost = await addLost();
    const polls = () => foreign.requests.count('masterchainInfo');
    const before = polls();
    for (let second = 0; second < 25; second++) {
      world.advance(1000);
      expect((await lost.ask(unknownTransaction())).status).toBe(503);
    }
    await expect.poll(() => polls() - before).toBe(2);
    world.advance(600_000);
    expect(polls() - before).toBe(2);
    foreign.faults.clear();
    expect((await lost.ask(unknownTransaction())).status).toBe(503);
    await expect.poll(async () => (await lost.ask(newestBlock(world))).status).toBe(200);
    expect((await inRedis(lost)).length).toBeGreaterThan(0);
    expect(polls() - before).toBe(3);
  });
});

describe('an indexer that has not named its head yet', () => {
  it('answers from the memory of its instance alone; nothing of it remains once it names another chain', async () => {
    const unknown = withoutHead();
    const lost = await addLost();
    const target = newestBlock(world);
    expect(await world.ask(target, {}, lost)).toMatchObject({ status: 200, cache: { stored: true } });
    expect((await world.ask(target, {}, lost)).cache).toMatchObject({ hit: true, detail: 'memory' });
    expect(await inRedis(lost)).toEqual([]);
    unknown.remove();
    nameAnother();
    expect((await lost.ask(INFO)).status).toBe(503);
    expect(await world.ask(target, {}, lost)).toMatchObject(REFUSED);
  });

  it('writes to Redis once it has named the chain of NETWORK', async () => {
    const unknown = withoutHead();
    const one = await world.addProxy({ ...OPTIONS, upstreamUrl: foreign.url });
    const target = targetOf('masterchainBlockShards', { seqno: world.indexer.chain.headSeqno - 10 });
    expect((await one.ask(target)).status).toBe(200);
    await one.untilRedisHasAll();
    expect((await world.ask(target)).cache).toMatchObject({ fwd: 'miss' });
    unknown.remove();
    expect((await one.ask(INFO)).status).toBe(200);
    const next = targetOf('masterchainBlockShards', { seqno: world.indexer.chain.headSeqno - 11 });
    expect((await one.ask(next)).status).toBe(200);
    await one.untilRedisHasAll();
    expect((await world.ask(next)).cache).toMatchObject({ hit: true, detail: 'redis' });
  });
});

it('an answer that arrives after its indexer has named another chain reaches no client', async () => {
  const unknown = withoutHead();
  const lost = await addLost();
  const gate = foreign.hold('masterchainBlockShards');
  const asking = world.ask(newestBlock(world), {}, lost);
  await gate.arrived(1);
  unknown.remove();
  nameAnother();
  expect((await lost.ask(INFO)).status).toBe(503);
  gate.release();
  expect(await asking).toMatchObject(REFUSED);
});

it('a backup of another chain is not used, even if the indexer fails', async () => {
  world.indexer.faults.inject(withoutBlocks(422), { operation: 'masterchainBlockShards' });
  const proxy = await world.addProxy({
    ...OPTIONS,
    upstreamUrl: 'http://127.0.0.1:9',
    env: { ...OPTIONS.env, NETWORK: 'mainnet', UPSTREAM_BACKUP_URL: foreign.url },
  });
  const before = askedForeign();
  expect((await proxy.ask(newestBlock(world))).status).toBe(502);
  expect(askedForeign()).toBe(before);
});

it('of another network than mainnet and testnet, the chain is that of the first indexer that names one', async () => {
  const proxy = await world.addProxy({ ...OPTIONS, upstreamUrl: foreign.url });
  expect((await proxy.ask(newestBlock(world))).status).toBe(200);
});
