import { afterEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import { ask, askJson } from './ask-indexer.ts';

const START = 1_800_000_000_000;
const BLOCK_MS = 400;
const HEAD = 62_000_000;

let indexer: Indexer;
let present = START;

afterEach(() => indexer.close());

async function start({ replicas = 1 } = {}): Promise<void> {
  present = START + 100 * BLOCK_MS;
  const chains = Array.from({ length: replicas }, () => new Chain({ startAt: START, lateShare: 1 }));
  const [chain, ...replicaChains] = chains;
  indexer = await startIndexer({ ...(chain && { chain }), replicaChains, now: () => present });
}

async function head(): Promise<number> {
  const { body } = await askJson(indexer, '/api/v3/masterchainInfo');
  return (body.last?.seqno ?? 0) - HEAD;
}

describe('an indexer that stood still for a time', () => {
  it('answers from the block that it has, while its clock continues', async () => {
    await start();
    indexer.replicas[0].standStill();
    present += 50 * BLOCK_MS;
    expect(await head()).toBe(100);
    expect(new Date((await ask(indexer, '/api/v3/masterchainInfo')).headers.date ?? '').getTime()).toBe(present);
  });

  it('catches up many blocks in the time of one, and then keeps up', async () => {
    await start();
    indexer.replicas[0].standStill();
    present += 50 * BLOCK_MS;
    indexer.replicas[0].catchUp(10);
    const heads: number[] = [];
    for (let block = 0; block < 7; block++) {
      present += BLOCK_MS;
      heads.push(await head());
    }
    expect(heads).toEqual([110, 120, 130, 140, 150, 156, 157]);
  });

  it('commits children late, with the time at which they executed', async () => {
    await start();
    const { chain } = indexer;
    indexer.replicas[0].standStill();
    const late = chain
      .recentTraces(100)
      .flatMap(({ transactions }) => transactions)
      .find(
        ({ finalizedAt, parent }) =>
          finalizedAt > chain.now && parent !== undefined && chain.children(parent.hash).length === 0,
      );
    if (late?.parent === undefined) throw new Error('no child is still to come');
    const target = `/api/v3/adjacentTransactions?direction=out&hash=${encodeURIComponent(late.parent.hash)}`;
    present += 3_600_000;
    expect((await ask(indexer, target)).status).toBe(404);
    indexer.replicas[0].catchUp(100);
    present += BLOCK_MS;
    const { body } = await askJson(indexer, target);
    const child = body.transactions?.find(({ hash }) => hash === late.hash);
    expect(child?.now).toBe(late.now);
    expect(present / 1000 - late.now).toBeGreaterThan(3500);
  });
});

describe('replicas behind one address', () => {
  it('answer in turn, each as far as it has got, with equal bytes for data that all have', async () => {
    await start({ replicas: 3 });
    indexer.replicas[1]?.lag(10 * BLOCK_MS);
    indexer.replicas[2]?.standStill();
    present += 20 * BLOCK_MS;
    const heads = [await head(), await head(), await head(), await head(), await head(), await head()];
    expect(heads.slice(0, 3).toSorted()).toEqual([100, 110, 120]);
    expect(heads.slice(3)).toEqual(heads.slice(0, 3));

    const newest = `/api/v3/masterchainBlockShards?seqno=${HEAD + 120}`;
    const statuses = [await ask(indexer, newest), await ask(indexer, newest), await ask(indexer, newest)];
    expect(statuses.map(({ status }) => status).toSorted()).toEqual([200, 404, 404]);

    const settled = `/api/v3/masterchainBlockShards?seqno=${HEAD + 90}`;
    const texts = [await ask(indexer, settled), await ask(indexer, settled), await ask(indexer, settled)];
    expect(new Set(texts.map(({ text }) => text)).size).toBe(1);
  });
});
