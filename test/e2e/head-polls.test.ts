import { afterEach, describe, expect, it } from 'vitest';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { purged } from './purge-world.ts';
import { newestBlock, parentOfSettled, targetOf, unknownTransaction } from './questions.ts';
import { ANY_WORLD, World, type WorldProxyOptions } from './world.ts';

const INFO = '/api/v3/masterchainInfo';
const FAILS = { kind: 'answer', status: 500, body: '{"error":"failed"}' } as const;

let world: World;
let backup: Indexer | undefined;

afterEach(async () => {
  await world[Symbol.asyncDispose]();
  await backup?.close();
  backup = undefined;
});

const start = async (proxy: WorldProxyOptions = {}) => {
  world = await World.start({ ...ANY_WORLD, proxy });
};

/** One request in each second of the world, for this long; a poll that it begins has ended before the next one. */
async function askEachSecond(seconds: number, target: () => string): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    world.advance(1000);
    await world.ask(target());
    await world.proxy.untilTakenIn();
  }
}

describe('with one indexer, its head is polled', () => {
  it('every 10 s while clients send requests whose answers do not show it', async () => {
    await start();
    await askEachSecond(35, unknownTransaction);
    expect(world.headsAsked).toBe(3);
    world.advance(600_000);
    expect(world.headsAsked).toBe(3);
    await askEachSecond(1, unknownTransaction);
    await expect.poll(() => world.headsAsked).toBe(4);
  });

  it('so that a head that stands still is reported, even if clients request only its blocks', async () => {
    await start();
    const seqno = world.indexer.chain.headSeqno;
    world.indexer.faults.inject({ kind: 'head', seqno }, { operation: 'masterchainInfo' });
    const sameSeconds = () =>
      world.proxy.metric('toncache_upstream_head_unchanged_seconds', { upstream: new URL(world.indexer.url).host });
    for (let limit = 1; limit <= 14; limit++) {
      world.advance(10_000);
      await world.ask(targetOf('masterchainBlockShards', { seqno, limit }));
      await world.proxy.untilTakenIn();
    }
    await expect.poll(sameSeconds).toBeGreaterThan(120);
  });

  it.each([
    ['unknown transactions', () => unknownTransaction()],
    ['ever newer blocks below that head', (seqno: number) => targetOf('masterchainBlockShards', { seqno })],
  ])('so that a head that falls back is reported, even if clients request %s', async (_, targetAt) => {
    await start();
    const { headSeqno } = world.indexer.chain;
    await askEachSecond(12, () => newestBlock(world));
    const from = world.indexer.chain.headSeqno;
    const to = headSeqno - 1250;
    const fallen = world.indexer.faults.inject({ kind: 'head', seqno: to }, { operation: 'masterchainInfo' });
    let seqno = to - 100;
    await askEachSecond(25, () => targetAt(seqno++));
    const statusOf = async () => JSON.parse((await world.proxy.askAdmin('/status.json')).text);
    const says = `responses are outdated: the newest block of the indexer fell back by ${(from - to).toLocaleString('en')} blocks`;
    await expect.poll(statusOf).toMatchObject({ level: 'FAILING', conditions: [{ name: 'head-fell', says }] });
    fallen.remove();
    await askEachSecond(35, unknownTransaction);
    const isTold = async () => {
      world.advance(5000);
      await statusOf();
      return world.proxy.metric('condition', { name: 'head-fell' });
    };
    await expect.poll(isTold).toBe(0);
  });

  it('only once while clients request ever newer blocks', async () => {
    await start();
    await askEachSecond(60, () => newestBlock(world));
    expect(world.headsAsked).toBe(1);
  });

  it.each([
    ['is a cached operation', { CACHE_OPERATIONS: 'masterchainInfo' }],
    ['is passed through', { PASSTHROUGH: 'on' }],
  ])('only by the requests of clients while masterchainInfo %s', async (_, env) => {
    await start({ env });
    await askEachSecond(30, () => INFO);
    expect(world.headsAsked).toBe(30);
    const { indexer } = world;
    const labels = { upstream: new URL(indexer.url).host };
    expect(await world.proxy.metric('toncache_upstream_head_unchanged_seconds', labels)).toBe(0);
    expect(await world.proxy.metric('headSeqno', labels)).toBe(indexer.chain.headSeqno);
    await askEachSecond(11, unknownTransaction);
    await expect.poll(() => world.headsAsked).toBe(31);
  });

  it('also while the requests of clients are passed through', async () => {
    await start({ env: { PASSTHROUGH: 'on' } });
    await askEachSecond(25, () => '/api/v3/addressBook?address=x');
    await expect.poll(() => world.headsAsked).toBe(2);
  });

  it('but that of its backup only until it has named its chain, even while the backup answers', async () => {
    backup = await startIndexer();
    await start({ env: { UPSTREAM_BACKUP_URL: backup.url } });
    world.indexer.faults.inject(FAILS);
    await askEachSecond(45, unknownTransaction);
    await world.ask(parentOfSettled(world));
    expect(backup.requests.total).toBeGreaterThan(20);
    expect(backup.requests.count('masterchainInfo')).toBe(1);
    expect(world.headsAsked).toBeGreaterThanOrEqual(4);
  });
});

it('all instances on one Redis together take a tenth of UPSTREAM_RPS for head polls', async () => {
  const env = { UPSTREAM_RPS: '1', UPSTREAM_TIMEOUT: '60s' };
  const proxy = { env, overrides: { admission: { patience: 30_000 } } };
  world = await World.start({ ...ANY_WORLD, tiers: 'memory and Redis', proxy });
  await world.addProxy();
  // The answer to a purge contains the number of instances, so this one knows it.
  expect(await purged(world.proxy, { seqno: 1 })).toMatchObject({ instances: 2 });
  const before = world.headsAsked;
  for (let polls = 0; polls < 2; polls++) {
    world.advance(19_000);
    // A poll that the first one begins takes its reservation before the second one.
    for (let time = 0; time < 2; time++) expect((await world.ask(unknownTransaction())).status).toBe(404);
    expect(world.headsAsked - before).toBe(polls);
    world.advance(1000);
    await world.ask(unknownTransaction());
    await expect.poll(() => world.headsAsked - before).toBe(polls + 1);
    await world.untilHeadsAnswered();
  }
});
