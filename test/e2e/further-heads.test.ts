import { afterEach, describe, expect, it } from 'vitest';
import { ANY_WORLD, World, type WorldOptions } from './world.ts';

const INFO = '/api/v3/masterchainInfo';
const BLOCK_MS = 400;
const NO_ROWS = '{"transactions":[],"address_book":{}}';

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

const start = async (options: Partial<WorldOptions> = {}) => {
  world = await World.start({ ...ANY_WORLD, proxy: { env: { CACHE_OPERATIONS: 'all' } }, ...options });
  return world;
};

const seqnoIn = (text: string): number => JSON.parse(text).last.seqno;

describe('masterchainInfo', () => {
  it('is requested from the indexer once per block time, for all clients together', async () => {
    await start();
    for (let asked = 0; asked < 5; asked++) expect((await world.ask(INFO)).status).toBe(200);
    expect(world.headsAsked).toBe(1);
    world.advance(BLOCK_MS - 1);
    expect(await world.ask(INFO)).toMatchObject({ cache: { hit: true }, headers: { 'cache-control': 'no-store' } });
    world.advance(1);
    const { headSeqno } = world.indexer.chain;
    await world.ask(INFO);
    expect(seqnoIn((await world.untilFresh(INFO)).text)).toBe(headSeqno);
    expect(world.headsAsked).toBe(2);
  });
});

describe.each([
  ['blocks', (seqno: number) => `/api/v3/blocks?mc_seqno=${seqno}`],
  ['one block', (seqno: number) => `/api/v3/blocks?workchain=-1&seqno=${seqno}`],
  ['transactions', (seqno: number) => `/api/v3/transactionsByMasterchainBlock?seqno=${seqno}`],
])('an answer that reports %s as absent', (_, targetOf) => {
  it('is not served once the instance has served a head that reached the block', async () => {
    await start();
    world.advance(BLOCK_MS / 2);
    const target = targetOf(world.indexer.chain.headSeqno + 1);
    const absent = await world.ask(target);
    expect(absent.text).not.toContain('"seqno"');
    world.advance(BLOCK_MS / 2);
    expect(await world.ask(target)).toMatchObject({ text: absent.text, cache: { hit: true } });
    expect(seqnoIn((await world.ask(INFO)).text)).toBe(world.indexer.chain.headSeqno);
    expect((await world.ask(target)).text).toMatch(/"(?:root_hash|mc_block_seqno)":/);
  });
});

describe('an empty page of a block', () => {
  const page = (seqno: number) => `/api/v3/transactionsByMasterchainBlock?seqno=${seqno}`;
  const lifetimeOf = async (target: string) => {
    expect((await world.ask(target)).cache).toMatchObject({ stored: true });
    for (let passedMs = 0; ; passedMs += 50, world.advance(50)) {
      if ((await world.ask(target)).cache['hit'] !== true) return passedMs;
    }
  };

  it('is served for 2 s if the head shows that the block exists', async () => {
    await start();
    await world.ask(INFO);
    const behind = `${page(world.indexer.chain.headSeqno)}&offset=1000`;
    expect((await world.ask(behind)).text).toBe(NO_ROWS);
    world.advance(2000);
    expect(await lifetimeOf(behind)).toBe(2000);
  });

  it('has the lifetime of any empty list if the block is not known', async () => {
    await start();
    const empty = { kind: 'answer', status: 200, body: NO_ROWS } as const;
    world.indexer.faults.inject(empty, { operation: 'transactionsByMasterchainBlock' });
    expect(await lifetimeOf(page(world.indexer.chain.headSeqno))).toBe(250);
  });
});
