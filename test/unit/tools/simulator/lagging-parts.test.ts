import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Chain } from '../../../../src/tools/simulator/chain.ts';
import { type DatabasePart, type Indexer, startIndexer } from '../../../../src/tools/simulator/indexer.ts';

const START = Date.UTC(2026, 0, 1);
const BLOCK_MS = 400;
const LAG_MS = 2000;
const SETTLED_MS = 100 * BLOCK_MS;

/** An indexer with one replica, whose chain has a newcomer (a new account) every 50 blocks. */
let indexer: Indexer;
let now: number;

const options = { startAt: START, blockMs: BLOCK_MS, idle: { count: 0, everyMs: 1, newcomerEveryMs: 50 * BLOCK_MS } };

async function asked(path: string) {
  const response = await fetch(`${indexer.url}/api/v3/${path}`);
  return { status: response.status, text: await response.text() };
}

/** The visible data of a newcomer: the block of its first transaction, its transactions, and its state. */
async function seen(address: string, seqno: number) {
  const { transactions } = JSON.parse((await asked(`transactions?account=${address}`)).text);
  return {
    blocks: (await asked(`transactionsByMasterchainBlock?seqno=${seqno}`)).status === 200,
    accounts: transactions.length > 0,
    state: (await asked(`addressInformation?address=${address}`)).text.includes('"status":"active"'),
  };
}

beforeAll(async () => {
  now = START + SETTLED_MS;
  indexer = await startIndexer({ chain: new Chain(options), now: () => now });
});

afterAll(() => indexer.close());

describe.each<DatabasePart>(['blocks', 'accounts'])('a replica whose %s lag', (part) => {
  it('is behind in them alone, by the lag, and keeps its commits', async () => {
    const [replica] = indexer.replicas;
    replica.lagPart(part, LAG_MS);
    const { chain } = replica;
    const seqno = chain.headSeqno + 50 - ((chain.headSeqno - chain.clock.firstSeqno) % 50);
    const address = chain.idle.newcomerBy(seqno)?.address ?? '';
    now = chain.clock.committedAt(seqno);
    const isOfBlocks = part === 'blocks';
    expect(await seen(address, seqno)).toEqual({ blocks: !isOfBlocks, accounts: isOfBlocks, state: isOfBlocks });
    now += LAG_MS - 1;
    expect(await seen(address, seqno)).toEqual({ blocks: !isOfBlocks, accounts: isOfBlocks, state: isOfBlocks });
    now += 1;
    const all = { blocks: true, accounts: true, state: true };
    expect(await seen(address, seqno)).toEqual(all);
    replica.lagPart(part, 2 * LAG_MS);
    expect(await seen(address, seqno)).toEqual(all);
    replica.lagPart(part, 0);
  });
});
