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

describe('a replica whose jettons lag', () => {
  it('is behind in jettons alone', async () => {
    const [replica] = indexer.replicas;
    const { chain } = replica;
    const [owner, master] = [chain.accounts.wallets[0], chain.jettons.masters[0]];
    if (owner === undefined || master === undefined) throw new Error('there are no accounts');
    const wallet = chain.jettons.walletOf(owner, master);
    replica.lagPart('jettons', LAG_MS);
    // Its database has reached this instant.
    await asked(`jetton/wallets?address=${wallet.address}`);
    const seqno = chain.headSeqno + Math.ceil(LAG_MS / BLOCK_MS) + 1;
    chain.act(wallet, { kind: 'become', owner, master }, chain.clock.committedAt(seqno));
    now = chain.clock.committedAt(seqno);
    const shown = async () => ({
      wallets: (await asked(`jetton/wallets?owner_address=${owner.address}`)).text.includes(wallet.address),
      state: (await asked(`accountStates?address=${wallet.address}`)).text.includes('"status":"active"'),
      block: (await asked(`transactionsByMasterchainBlock?seqno=${seqno}`)).text.includes(wallet.address),
    });
    expect(await shown()).toEqual({ wallets: false, state: true, block: true });
    now += LAG_MS;
    expect(await shown()).toEqual({ wallets: true, state: true, block: true });
    replica.lagPart('jettons', 0);
  });
});
