import { afterEach, beforeEach, expect, it } from 'vitest';
import { Restore } from '../../src/tools/simulator/database-fall.ts';
import { ANY_WORLD, World } from './world.ts';

const BLOCK_MS = 400;
const LOST_BLOCKS = 500;
const INFO = '/api/v3/masterchainInfo';

/** The indexer has lost its newest 500 blocks, and catches up in 100 s. */
let world: World;
let newest: number;

beforeEach(async () => {
  world = await World.start({ ...ANY_WORLD, proxy: { env: { CACHE_OPERATIONS: 'all' }, stopsTime: true } });
  world.advance(600 * BLOCK_MS);
  newest = world.indexer.chain.headSeqno;
});

afterEach(() => world[Symbol.asyncDispose]());

const fallBack = () => {
  const fall = new Restore(world.now, LOST_BLOCKS * BLOCK_MS, 3);
  world.indexer.replicas[0].fallBack(fall);
  return fall;
};
const headIn = (text: string): number => JSON.parse(text).last.seqno;

it.each([
  ['masterchainBlockShards?seqno=', 404],
  ['blocks?mc_seqno=', 200],
  ['transactionsByMasterchainBlock?seqno=', 404],
])(
  'after an indexer loses its newest blocks, cached blocks stay and others come from the indexer: %s',
  async (query, lacking) => {
    const [known, other] = [`/api/v3/${query}${newest}`, `/api/v3/${query}${newest - 1}`];
    const [before, otherBefore] = [await world.ask(known), await world.askIndexer(other)];
    const fall = fallBack();
    expect((await world.askIndexer(known)).status).toBe(lacking);
    for (const passedMs of [1000, 30_000, 30_000]) {
      world.advance(passedMs);
      expect(await world.ask(known)).toMatchObject({ status: 200, text: before.text, cache: { hit: true } });
      const { status, text } = await world.askIndexer(other);
      expect(await world.ask(other)).toMatchObject({ status, text });
      expect(text).not.toBe(otherBefore.text);
    }
    world.advanceTo(fall.endsAt);
    expect((await world.ask(other)).text).toBe(otherBefore.text);
  },
);

it('after an indexer loses its newest blocks, cached children are still served past their lifetime', async () => {
  const { transactions = [] } = world.indexer.chain.block(newest - 100) ?? {};
  const { hash = '' } = transactions.find(({ children }) => children.some(({ seqno }) => seqno < newest)) ?? {};
  const target = `/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}&direction=out`;
  const before = await world.ask(target);
  expect(before.status).toBe(200);
  fallBack();
  for (let passedMs = 0; passedMs < 50_000; passedMs += 10_000) {
    world.advance(10_000);
    expect(await world.ask(target)).toMatchObject({ status: 200, text: before.text });
  }
  expect((await world.askIndexer(target)).status).toBe(404);
  expect(world.forwardedFor(target).length).toBeGreaterThan(2);
});

it('the older head of an indexer that lost blocks is accepted after 60 s, and never regresses after that', async () => {
  expect(headIn((await world.ask(INFO)).text)).toBe(newest);
  const fall = fallBack();
  const seen: number[] = [];
  for (; world.now < fall.endsAt + 2000; world.advance(500)) seen.push(headIn((await world.ask(INFO)).text));
  const kept = seen.filter((seqno) => seqno === newest).length;
  expect(seen.slice(0, kept)).toEqual(Array(kept).fill(newest));
  expect(kept * 500).toBeGreaterThanOrEqual(60_000);
  expect(kept * 500).toBeLessThan(63_000);
  const after = seen.slice(kept);
  expect(after[0]).toBeLessThan(newest);
  expect(after).toEqual(after.toSorted((one, other) => one - other));
  expect(headIn((await world.untilFresh(INFO)).text)).toBe(world.indexer.chain.headSeqno);
});

it('the head does not regress to that of a lagging replica for 60 s, even if clients pause for 3.5 s', async () => {
  expect(headIn((await world.ask(INFO)).text)).toBe(newest);
  world.indexer.faults.inject({ kind: 'head', seqno: newest - 3 }, { operation: 'masterchainInfo' });
  const seen: number[] = [];
  for (let passedMs = 3500; passedMs < 67_000; passedMs += 3500) {
    world.advance(3500);
    seen.push(headIn((await world.ask(INFO)).text));
  }
  expect(seen).toEqual(seen.map((_, poll) => (3500 * (poll + 1) < 60_000 ? newest : newest - 3)));
});
