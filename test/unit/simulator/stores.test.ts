import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { databaseDown, databaseTimeout, redisDown } from '../../../src/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import { ask, askJson } from './ask-indexer.ts';

const START = 1_800_000_000_000;
const VERSIONS: readonly Dialect[] = ['1.2', '1.3'];

let indexer: Indexer;
let present = START;
let shards = '';
let adjacent = '';
let pending = '';

afterEach(() => indexer.close());

async function statuses(): Promise<number[]> {
  const targets = [shards, adjacent, pending, '/api/v3/masterchainInfo'];
  return Promise.all(targets.map(async (target) => (await ask(indexer, target)).status));
}

describe.each(VERSIONS)('version %s whose stores fail', (dialect) => {
  beforeEach(async () => {
    present = START + 60 * 400;
    indexer = await startIndexer({ dialect, chain: new Chain({ startAt: START }), now: () => present });
    const { chain } = indexer;
    const parent = chain
      .recentTraces(200)
      .flatMap(({ transactions }) => transactions)
      .find(({ hash }) => chain.parent(hash) !== undefined && chain.children(hash).length > 0);
    const message = chain.send();
    shards = `/api/v3/masterchainBlockShards?seqno=${chain.headSeqno}`;
    adjacent = `/api/v3/adjacentTransactions?hash=${encodeURIComponent(parent?.hash ?? '')}`;
    pending = `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(message)}`;
    present = chain.trace(message)?.emulatedAt ?? present;
    expect(await statuses()).toEqual([200, 200, 200, 200]);
  });

  it('answers 404 for existing data when its database times out, and 500 where it notices the timeout', async () => {
    indexer.faults.inject(databaseTimeout());
    expect(await statuses()).toEqual([404, 404, 500, 500]);
    expect((await askJson(indexer, shards)).body).toEqual({ error: 'blocks not found' });
    expect((await askJson(indexer, adjacent)).body).toEqual({ error: 'adjacent transactions not found' });
    // Nothing is read from the database where no account is named.
    expect((await ask(indexer, `${pending}&x_no_address_book=1&x_no_metadata=1`)).status).toBe(200);
  });

  it('lists only a part when its database times out in the middle of a list', async () => {
    const whole = await askJson(indexer, shards);
    indexer.faults.inject(databaseTimeout(1));
    const cut = await askJson(indexer, shards);
    expect([cut.status, cut.body.blocks]).toEqual([200, whole.body.blocks?.slice(0, 1)]);
    const children = await askJson(indexer, adjacent);
    expect([children.status, children.body.transactions?.length]).toEqual([200, 1]);
  });

  it('answers 500 to everything when its database is unreachable', async () => {
    indexer.faults.inject(databaseDown());
    expect(await statuses()).toEqual([500, 500, 500, 500]);
    expect(Object.keys((await askJson(indexer, pending)).body)).toEqual(['error']);
  });

  it('answers that nothing is pending when its Redis fails', async () => {
    indexer.faults.inject(redisDown());
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    const { body } = await askJson(indexer, pending);
    expect(body).toEqual({ traces: dialect === '1.2' ? null : [], address_book: {}, metadata: {} });
  });
});
