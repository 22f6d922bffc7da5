import { afterEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import { addressSpellings, hashSpellings } from '../../../src/simulator/spellings.ts';
import type { Trace } from '../../../src/simulator/trace.ts';
import { ask, askJson } from './ask-indexer.ts';

const START = 1_800_000_000_000;
const DIALECTS: readonly Dialect[] = ['spec', '1.2', '1.3'];

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

function pendingOf(trace: Trace): string {
  return `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(trace.externalHash)}`;
}

function traceWithChildren(): Trace {
  const old = indexer.chain
    .recentTraces()
    .find(({ transactions, goneAt }) => transactions.length > 3 && goneAt < present);
  if (old === undefined) throw new Error('no such trace');
  return old;
}

describe.each(DIALECTS)('dialect %s', (dialect) => {
  it('sends JSON with its version and timing, and neither validators, caching, compression nor CORS', async () => {
    await start(dialect);
    const { status, headers } = await ask(indexer, '/api/v3/masterchainInfo', {
      headers: { 'Accept-Encoding': 'gzip, br', Origin: 'https://wallet.example' },
    });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['x-api-version']).toMatch({ spec: /^1\.0/, '1.2': /^1\.2/, '1.3': /^1\.3/ }[dialect]);
    expect(headers['server-timing']).toMatch(/^total;dur=/);
    expect(new Date(headers.date ?? '').getTime()).toBe(present);
    for (const name of ['etag', 'cache-control', 'content-encoding', 'access-control-allow-origin', 'vary']) {
      expect(headers).not.toHaveProperty(name);
    }
  });

  it('lists a masterchain block in its own shape, byte for byte the same each time', async () => {
    await start(dialect);
    const seqno = indexer.chain.headSeqno;
    const blockSet = indexer.chain.block(seqno);
    const { body, text } = await askJson(indexer, `/api/v3/masterchainBlockShards?seqno=${seqno}&limit=1000`);
    if (dialect === 'spec') {
      expect(Object.keys(body).sort()).toEqual(['address_book', 'transactions']);
      expect(body.transactions?.map(({ hash }) => hash)).toEqual(blockSet?.transactions.map(({ hash }) => hash));
      expect(body.transactions?.every((row) => row.mc_block_seqno === seqno && !row.emulated)).toBe(true);
    } else {
      expect(Object.keys(body)).toEqual(['blocks']);
      expect(body.blocks).toHaveLength(blockSet?.blocks.length ?? 0);
      expect(body.blocks?.filter((block) => block.workchain === -1 && block.seqno === seqno)).toHaveLength(1);
      expect(text.length / (blockSet?.blocks.length ?? 1)).toBeGreaterThan(800);
      expect(text.length / (blockSet?.blocks.length ?? 1)).toBeLessThan(1000);
    }
    expect((await ask(indexer, `/api/v3/masterchainBlockShards?seqno=${seqno}&limit=1000`)).text).toBe(text);
  });

  it('pages a masterchain block, and takes a page beyond its end for a block that is not there', async () => {
    await start(dialect);
    const path = `/api/v3/masterchainBlockShards?seqno=${indexer.chain.headSeqno}`;
    const rows = async (query: string) => {
      const { body } = await askJson(indexer, path + query);
      return (body.blocks ?? body.transactions ?? []).map((row) => JSON.stringify(row));
    };
    const all = await rows('&limit=1000');
    expect(await rows('&limit=1')).toEqual(all.slice(0, 1));
    expect(await rows('&limit=1&offset=1')).toEqual(all.slice(1, 2));
    const beyond = await ask(indexer, `${path}&offset=1000`);
    expect([beyond.status, beyond.text]).toEqual([404, '{"error":"blocks not found"}']);
  });

  it.each([
    ['ahead of the head', () => indexer.chain.headSeqno + 1],
    ['below the floor', () => indexer.chain.floorSeqno - 1],
  ])('says 404 for a masterchain block %s', async (_, seqno) => {
    await start(dialect);
    const { status, text } = await ask(indexer, `/api/v3/masterchainBlockShards?seqno=${seqno()}`);
    expect([status, text]).toEqual([404, '{"error":"blocks not found"}']);
  });

  it('refuses a limit above 1000 with its own status', async () => {
    await start(dialect);
    const { status, body } = await askJson(indexer, '/api/v3/masterchainBlockShards?seqno=1&limit=1001');
    expect(status).toBe({ spec: 422, '1.2': 500, '1.3': 422 }[dialect]);
    expect(body.error).toContain('limit');
  });

  it('shows in its own form that a trace is pending, confirmed and finalized', async () => {
    await start(dialect);
    const trace = sendTrace();
    const [root] = trace.transactions;
    if (root === undefined) throw new Error('an empty trace');
    const look = async (instant: number) => {
      present = instant;
      const { body } = await askJson(indexer, pendingOf(trace));
      const { mc_block_seqno, emulated, finality } = body.traces?.[0]?.transactions[root.hash] ?? {};
      return { mc_block_seqno, emulated, finality };
    };
    const pending = await look(root.emulatedAt);
    const confirmed = await look(root.confirmedAt);
    const finalized = await look(root.finalizedAt);
    const seqno = root.seqno;
    const says = {
      spec: [{ emulated: true }, { emulated: false }, { mc_block_seqno: seqno, emulated: false }],
      '1.2': [
        { mc_block_seqno: null, emulated: true },
        { mc_block_seqno: null, emulated: true },
        { mc_block_seqno: seqno, emulated: false },
      ],
      '1.3': [
        { mc_block_seqno: null, emulated: true, finality: 'pending' },
        { mc_block_seqno: seqno, emulated: false, finality: 'confirmed' },
        { mc_block_seqno: seqno, emulated: false, finality: 'finalized' },
      ],
    }[dialect];
    expect([pending, confirmed, finalized]).toEqual(says);
  });

  it('answers in its own form that there is no trace before emulation and after its end', async () => {
    await start(dialect);
    const trace = sendTrace();
    const nothing = dialect === '1.2' ? null : [];
    expect((await askJson(indexer, pendingOf(trace))).body.traces).toEqual(nothing);
    present = trace.emulatedAt;
    expect((await askJson(indexer, pendingOf(trace))).body.traces).toHaveLength(1);
    present = trace.goneAt;
    const gone = await askJson(indexer, pendingOf(trace));
    expect([gone.status, gone.body.traces]).toEqual([200, nothing]);
  });

  it('finds the traces of an account in every spelling of it, with equal bytes', async () => {
    await start(dialect);
    const trace = sendTrace();
    present = trace.emulatedAt;
    const account = trace.transactions[0]?.account;
    if (account === undefined) throw new Error('an empty trace');
    const texts = new Set<string>();
    for (const spelling of Object.values(addressSpellings(account))) {
      const { status, text } = await ask(indexer, `/api/v3/pendingTraces?account=${encodeURIComponent(spelling)}`);
      expect(status).toBe(200);
      texts.add(text);
    }
    expect([...texts]).toEqual([expect.stringContaining(trace.externalHash)]);
  });

  it('reads the spellings of a hash that its indexer reads', async () => {
    await start(dialect);
    const { id } = traceWithChildren();
    for (const [name, spelling] of Object.entries(hashSpellings(Buffer.from(id, 'base64')))) {
      const path = `/api/v3/adjacentTransactions?direction=out&hash=${encodeURIComponent(spelling)}`;
      const refused = dialect === '1.2' && name.endsWith('Unpadded');
      expect([name, (await ask(indexer, path)).status]).toEqual([name, refused ? 422 : 200]);
    }
  });

  it('takes a raw plus for a space, which no hash contains', async () => {
    await start(dialect);
    const { status } = await ask(indexer, `/api/v3/adjacentTransactions?hash=${'+'.repeat(43)}=`);
    expect(status).toBe(422);
  });

  it('reads account and ext_msg_hash as its indexer does', async () => {
    await start(dialect);
    const one = sendTrace();
    const other = sendTrace();
    present = Math.max(one.emulatedAt, other.emulatedAt);
    const accountOf = ({ transactions }: Trace) => encodeURIComponent(transactions[0]?.account.address ?? '');
    const found = async (query: string) => {
      const { body } = await askJson(indexer, `/api/v3/pendingTraces?${query}`);
      const hashes = new Set(body.traces?.map((trace) => trace.external_hash));
      return [hashes.has(one.externalHash), hashes.has(other.externalHash)];
    };
    const both = await found(`account=${accountOf(one)}&account=${accountOf(other)}`);
    expect(both).toEqual(dialect === 'spec' ? [true, true] : [false, true]);
    const hash = encodeURIComponent(one.externalHash);
    const mixed = await found(`account=${accountOf(other)}&ext_msg_hash=${hash}`);
    expect(mixed).toEqual(dialect === 'spec' ? [true, true] : [false, true]);
    const repeated = `ext_msg_hash=${hash}&ext_msg_hash=${encodeURIComponent(other.externalHash)}`;
    expect(await found(repeated)).toEqual([true, true]);
    const commas = `/api/v3/pendingTraces?ext_msg_hash=${hash},${encodeURIComponent(other.externalHash)}`;
    expect((await ask(indexer, commas)).status).toBe(dialect === 'spec' ? 422 : 200);
  });

  it('answers adjacentTransactions with the true parents and children', async () => {
    await start(dialect);
    const trace = traceWithChildren();
    for (const { hash } of trace.transactions) {
      for (const direction of ['in', 'out']) {
        const path = `/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}&direction=${direction}`;
        const { status, body } = await askJson(indexer, path);
        const parent = indexer.chain.parent(hash);
        const truth = direction === 'out' ? indexer.chain.children(hash) : parent === undefined ? [] : [parent];
        expect(status).toBe(truth.length === 0 ? 404 : 200);
        expect(body.transactions ?? []).toMatchObject(truth.map((transaction) => ({ hash: transaction.hash })));
        if (status === 404) expect(body).toEqual({ error: 'adjacent transactions not found' });
        else
          expect(
            body.transactions?.every((row) => row.finality === (dialect === '1.3' ? 'finalized' : undefined)),
          ).toBe(true);
      }
    }
  });

  it.each([
    ['pendingTraces', 'account or ext_msg_hash should be specified'],
    ['pendingTraces?account=nobody', 'error converting value for "account"'],
    ['pendingTraces?account=', 'error converting value for "account"'],
    ['pendingTraces?ext_msg_hash=nothing', 'error converting value for index 0 of "ext_msg_hash"'],
    ['adjacentTransactions?hash=', 'error converting value for "hash"'],
    ['masterchainBlockShards?seqno=1&limit=many', 'error converting value for "limit"'],
    ['masterchainBlockShards?seqno=1&offset=2147483648', 'error converting value for "offset"'],
  ])('refuses %s with 422', async (target, message) => {
    await start(dialect);
    const { status, body } = await askJson(indexer, `/api/v3/${target}`);
    // The specification's accounts are a list.
    const expected = dialect === 'spec' ? message.replace('"account"', 'index 0 of "account"') : message;
    expect([status, body.error]).toEqual([422, expect.stringContaining(expected)]);
  });

  it('takes a path in any case, and with a slash at its end', async () => {
    await start(dialect);
    expect((await ask(indexer, '/API/v3/MasterchainInfo/')).status).toBe(200);
    expect((await ask(indexer, '/api/v3/masterchainInfo//')).status).toBe(404);
  });
});
