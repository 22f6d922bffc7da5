import { afterEach, describe, expect, it } from 'vitest';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import type { Transaction } from '../../src/tools/simulator/trace.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { targetOf } from './questions.ts';
import { ANY_WORLD, WORLDS, World } from './world.ts';

const HOUR_MS = 3_600_000;
const STEP_MS = 100;
const CHAIN = { startAt: 1_800_000_000_000, lateShare: 1 };

let world: World;
let indexer: Indexer;

afterEach(async () => {
  await indexer.close();
  await world[Symbol.asyncDispose]();
});

/** A transaction one child of which is committed, and another one is still to come, at least two seconds later. */
function growing(chain: Chain): Transaction {
  const found = chain
    .recentTraces(500)
    .flatMap(({ transactions }) => transactions)
    .find(({ hash, children }) => {
      const known = chain.children(hash).length;
      return known > 0 && children.some(({ finalizedAt }) => finalizedAt > chain.now + 2_000);
    });
  if (found === undefined) throw new Error('nothing grows');
  return found;
}

async function childrenSeen(proxy: RunningProxy, { hash }: Transaction): Promise<string[]> {
  const reply = await world.ask(targetOf('adjacentTransactions', { hash, direction: 'out' }), {}, proxy);
  if (reply.status !== 200) return [];
  const { transactions }: { transactions: { hash: string }[] } = JSON.parse(reply.text);
  return transactions.map((transaction) => transaction.hash);
}

describe.each(WORLDS)('an indexer that was an hour behind and catches up, dialect $dialect, $tiers', (kind) => {
  it('shows new children within 1.5 s, though they executed an hour ago', async () => {
    world = await World.start(kind);
    indexer = await startIndexer({ dialect: kind.dialect, chain: new Chain(CHAIN), now: () => world.now });
    const parent = growing(indexer.chain);
    indexer.replicas[0].standStill();
    world.advance(HOUR_MS);
    await using proxy = await world.addProxy({ upstreamUrl: indexer.url });
    expect(await childrenSeen(proxy, parent)).toHaveLength(indexer.chain.children(parent.hash).length);

    indexer.replicas[0].catchUp(200);
    world.advance(4 * STEP_MS);
    const all = parent.children.map(({ hash }) => hash).toSorted();
    expect(indexer.chain.children(parent.hash)).toHaveLength(all.length);
    let seen: string[] = [];
    for (let waitedMs = 0; waitedMs <= 1_500 && seen.length < all.length; waitedMs += STEP_MS) {
      world.advance(STEP_MS);
      seen = await childrenSeen(proxy, parent);
      // The refreshed answer is there at the next request.
      await expect.poll(() => indexer.requests.inHand).toBe(0);
    }
    expect(seen.toSorted()).toEqual(all);
  });
});

describe('replicas behind one address, one of which lags', () => {
  it('never hide a child that was shown before', async () => {
    world = await World.start(ANY_WORLD);
    const [chain, lagging] = [new Chain(CHAIN), new Chain(CHAIN)];
    indexer = await startIndexer({ chain, replicaChains: [lagging], now: () => world.now });
    indexer.replicas[1]?.lag(10_000);
    await using proxy = await world.addProxy({ upstreamUrl: indexer.url });
    const parent = growing(indexer.chain);
    let most = 0;
    for (let waitedMs = 0; waitedMs < 9_000; waitedMs += STEP_MS) {
      world.advance(STEP_MS);
      const seen = await childrenSeen(proxy, parent);
      expect(seen.length).toBeGreaterThanOrEqual(most);
      most = Math.max(most, seen.length);
      await expect.poll(() => indexer.requests.inHand).toBe(0);
    }
    expect(most).toBe(indexer.replicas[0].chain.children(parent.hash).length);
    expect(indexer.requests.total).toBeGreaterThan(4);
  });
});
