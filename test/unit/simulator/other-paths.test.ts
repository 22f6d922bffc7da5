import { afterEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import type { Trace } from '../../../src/simulator/trace.ts';
import { ask, askJson } from './ask-indexer.ts';

const START = 1_800_000_000_000;

let indexer: Indexer;
let present = START;

async function start(dialect: Dialect, blocks = 60): Promise<void> {
  present = START + blocks * 400;
  const chain = new Chain({ startAt: START, historyBlocks: 50 });
  indexer = await startIndexer({ dialect, chain, now: () => present });
}

afterEach(() => indexer.close());

function sendTrace(): Trace {
  const trace = indexer.chain.trace(indexer.chain.send());
  if (trace === undefined) throw new Error('not sent');
  return trace;
}

describe('the rest of the API', () => {
  it('knows head and floor', async () => {
    await start('1.3');
    const { body } = await askJson(indexer, '/api/v3/masterchainInfo');
    expect([body.first?.seqno, body.last?.seqno]).toEqual([indexer.chain.floorSeqno, indexer.chain.headSeqno]);
  });

  it('takes an external message, whose trace can then be polled', async () => {
    await start('1.3');
    const body = JSON.stringify({ boc: 'te6cckEBAQEAAgAAAEysuc0=' });
    const sent = await askJson(indexer, '/api/v3/message', { method: 'POST', body });
    expect(sent.status).toBe(200);
    present += 1000;
    const path = `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(sent.body.message_hash ?? '')}`;
    expect((await askJson(indexer, path)).body.traces).toHaveLength(1);
    expect((await ask(indexer, '/api/v3/message', { method: 'POST', body: '{' })).status).toBe(422);
    expect((await ask(indexer, '/api/v3/message')).status).toBe(405);
    expect(indexer.requests.recent[0]?.body.toString()).toBe(body);
  });

  it('answers two more operations, and 404 for a path that it does not know', async () => {
    await start('1.3');
    const [wallet] = indexer.chain.accounts.wallets;
    const book = await ask(indexer, `/api/v3/addressBook?address=${wallet?.friendly}`);
    expect(Object.keys(JSON.parse(book.text))).toEqual([wallet?.address]);
    const listed = await askJson(indexer, `/api/v3/transactionsByMasterchainBlock?seqno=${indexer.chain.headSeqno}`);
    expect(listed.body.transactions?.length).toBeGreaterThan(0);
    expect((await ask(indexer, '/api/v3/unheardOf')).status).toBe(404);
    expect((await ask(indexer, '/api/v3/pendingTraces', { method: 'DELETE' })).status).toBe(405);
    expect((await ask(indexer, '/api/v3/message', { method: 'POST', body: 'x'.repeat(2 ** 20 + 1) })).status).toBe(413);
  });
});

describe('sizes of answers', () => {
  it('are those of a real indexer', async () => {
    await start('1.3');
    const sizes: number[] = [];
    const path = '/api/v3/pendingTraces?ext_msg_hash=';
    for (let n = 0; n < 60; n++) {
      const trace = sendTrace();
      present = trace.goneAt - 1;
      sizes.push((await ask(indexer, path + encodeURIComponent(trace.externalHash))).bytes.length);
    }
    sizes.sort((a, b) => a - b);
    expect(sizes[30]).toBeGreaterThan(20_000);
    expect(sizes[30]).toBeLessThan(36_000);
    expect(sizes[59]).toBeGreaterThan(45_000);
  });
});
