import { describe, expect, it } from 'vitest';
import { answer } from '../../../../src/tools/simulator/answer.ts';
import { Chain } from '../../../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../../../src/tools/simulator/dialect.ts';
import { pastAnswers } from '../../../../src/tools/simulator/past-answers.ts';
import { SimulatorQuestion } from '../../../../src/tools/simulator/question.ts';

const START = Date.UTC(2026, 0, 1);
const BLOCK_MS = 400;
const FIRST = 62_000_000;
const BLOCKS = 100;
const NOW = START + BLOCKS * BLOCK_MS;

interface Row {
  readonly account: string;
  readonly hash: string;
  readonly lt: string;
  readonly now: number;
  readonly prev_trans_lt: string;
  readonly prev_trans_hash: string;
  readonly mc_block_seqno: number;
  readonly finality: string;
  readonly account_state_after: { readonly balance: string };
}

/**
 * A chain of 100 blocks with newcomers and five idle accounts. Each idle account has a transaction in one of four
 * blocks on average.
 */
function chainOf(): Chain {
  const idle = { count: 5, everyMs: 4 * BLOCK_MS, newcomerEveryMs: 20 * BLOCK_MS };
  const chain = new Chain({ startAt: START, blockMs: BLOCK_MS, firstSeqno: FIRST, historyBlocks: 500, idle });
  chain.advanceTo(NOW);
  return chain;
}

const chain = chainOf();
const [account] = chain.idle.all;
const X = account?.address ?? '';

interface Asked {
  readonly of?: Chain;
  readonly instant?: number;
  readonly dialect?: Dialect;
}

function ask(path: string, { of = chain, instant = of.now, dialect = '1.3' }: Asked = {}) {
  const asked = { method: 'GET', target: `/api/v3/${path}`, headers: {} };
  const { status, body } = answer(new SimulatorQuestion(asked, { chain: of, dialect, instant }));
  return { status, body: JSON.parse(String(body)) };
}

const rowsOf = (path: string, more: Asked = {}): readonly Row[] => ask(path, more).body.transactions;
const ltsOf = (path: string) => rowsOf(path).map(({ lt }) => Number(lt));

/** All rows of an account in the pages of all blocks, newest first. */
function rowsInBlocks(address: string): readonly Row[] {
  const pages = Array.from({ length: BLOCKS + 1 }, (_, n) =>
    rowsOf(`transactionsByMasterchainBlock?seqno=${FIRST + n}&limit=1000&sort=asc`),
  );
  return pages
    .flat()
    .filter((row) => row.account === address)
    .toReversed();
}

describe('transactions of an account', () => {
  const all = rowsInBlocks(X);
  const lts = all.map(({ lt }) => Number(lt));
  const [newest = 0, second = 0] = lts;
  const third = all[2] ?? all[0];
  const utime = third?.now ?? 0;

  it('equal the rows in the pages of blocks', () => {
    expect(all.length).toBeGreaterThan(10);
    expect(rowsOf(`transactions?account=${X}&limit=1000`)).toEqual(all);
  });

  it('name the previous transaction, down to the first one, and are final', () => {
    for (const [place, row] of all.entries()) {
      const { lt, hash } = all[place + 1] ?? { lt: '0', hash: Buffer.alloc(32).toString('base64') };
      expect(row).toMatchObject({ prev_trans_lt: lt, prev_trans_hash: hash, finality: 'finalized' });
    }
  });

  it.each([
    ['', lts.slice(0, 100)],
    ['&limit=3', lts.slice(0, 3)],
    ['&limit=3&sort=desc', lts.slice(0, 3)],
    ['&limit=3&sort=asc', lts.toReversed().slice(0, 3)],
    ['&limit=3&offset=2', lts.slice(2, 5)],
    [`&start_lt=${second}`, [newest, second]],
    [`&start_lt=${second + 1}`, [newest]],
    [`&start_lt=${newest + 1}`, []],
    ['&start_lt=', lts],
    [`&end_lt=${second}`, lts.slice(1)],
    [`&start_utime=${utime}`, all.filter(({ now }) => now >= utime).map(({ lt }) => Number(lt))],
    [`&end_utime=${utime}`, all.filter(({ now }) => now <= utime).map(({ lt }) => Number(lt))],
  ])('are selected by the parameters "%s"', (more, expected) => {
    expect(ltsOf(`transactions?account=${X}${more}`)).toEqual(expected);
  });

  it('include those of several requested accounts, and are empty for an unknown account', () => {
    const [, other] = chain.idle.all;
    const both = rowsOf(`transactions?account=${X}&account=${other?.address}&limit=1000`);
    expect(both.length).toBe(all.length + rowsInBlocks(other?.address ?? '').length);
    expect(rowsOf(`transactions?account=0:${'1'.repeat(64)}`)).toEqual([]);
  });

  it.each(['start_lt=yesterday', 'account=nobody', 'sort=up'])('are refused with 422 if the query has %s', (query) => {
    const given = query.startsWith('account') ? query : `account=${X}&${query}`;
    expect(ask(`transactions?${given}`).status).toBe(422);
  });
});

describe.each(['addressInformation', 'walletInformation'])('%s', (operation) => {
  it('matches the row of each transaction of the account, and is uninit before the first one', () => {
    const all = rowsInBlocks(X);
    for (const { lt, hash, mc_block_seqno: seqno, account_state_after: after } of all) {
      const instant = chain.indexedAt(seqno);
      const state = { last_transaction_lt: lt, last_transaction_hash: hash, status: 'active', balance: after.balance };
      expect(ask(`${operation}?address=${X}`, { instant }).body).toMatchObject(state);
    }
    const [first] = all.toReversed();
    const before = chain.indexedAt(first?.mc_block_seqno ?? 0) - 1;
    const nothing = { balance: '0', last_transaction_lt: '0', status: 'uninit' };
    expect(ask(`${operation}?address=${X}`, { instant: before })).toMatchObject({ status: 200, body: nothing });
  });

  it.each([
    ['', 401],
    ['address=nobody', 422],
    [`address=${X},${X}`, 422],
    [`address=${X}&use_v2=true`, 500],
    [`address=${chain.accounts.elector.address}`, operation === 'walletInformation' ? 409 : 200],
  ])('answers the query %j with %i', (query, status) => {
    expect(ask(`${operation}?${query}`).status).toBe(status);
  });
});

it.each([
  ['addressInformation', 'account'],
  ['walletInformation', 'wallet'],
])('%s is also answered as %s, and reads neither include_boc nor use_v2=false', (operation, alias) => {
  const plain = ask(`${operation}?address=${X}`);
  expect(plain.status).toBe(200);
  for (const query of [`address=${X}`, `include_boc=no&address=${X}`, `address=${X}&use_v2=F`]) {
    expect(ask(`${alias}?${query}`)).toEqual(plain);
  }
  expect(ask(`${alias}?address=${X}&use_v2=1`).status).toBe(500);
});

describe('a block', () => {
  const filled = chainOf();
  const at = NOW + 3 * BLOCK_MS;
  const { wallets } = filled.accounts;
  for (let n = 0; n < 2400; n++) {
    const wallet = wallets[n % wallets.length];
    if (wallet !== undefined) filled.deposit(wallet, at, n);
  }
  filled.advanceTo(at);
  const seqno = filled.headSeqno;
  const page = (offset: number) =>
    rowsOf(`transactionsByMasterchainBlock?seqno=${seqno}&limit=1000&offset=${offset}&sort=asc`, { of: filled });
  const countsOf = (of: Chain, number: number) =>
    ask(`masterchainBlockShards?seqno=${number}`, { of }).body.blocks.map((it: { tx_count: number }) => it.tx_count);
  const sum = (counts: readonly number[]) => counts.reduce((one, other) => one + other, 0);

  it('has as many rows in its pages as it and its shard blocks count', () => {
    const rows = [page(0), page(1000), page(2000), page(3000)].flat();
    expect(rows.length).toBeGreaterThanOrEqual(2400);
    expect(new Set(rows.map(({ hash }) => hash)).size).toBe(rows.length);
    expect(sum(countsOf(filled, seqno))).toBe(rows.length);
    for (let n = 0; n <= BLOCKS; n++) {
      const { length } = rowsOf(`transactionsByMasterchainBlock?seqno=${FIRST + n}&limit=1000`);
      expect(sum(countsOf(chain, FIRST + n))).toBe(length);
    }
  });

  it('may contain several rows of one account, each of which names the previous one', () => {
    const address = wallets[0]?.address ?? '';
    const rows = rowsOf(`transactions?account=${address}&limit=15`, { of: filled });
    expect(rows.every((row, n) => n + 1 === rows.length || row.prev_trans_lt === rows[n + 1]?.lt)).toBe(true);
    expect(new Set(rows.map((row) => row.mc_block_seqno)).size).toBe(1);
  });
});

describe('the newest masterchain blocks', () => {
  const listed = (path: string, more: Asked = {}): readonly number[] =>
    ask(path, more).body.blocks.map(({ seqno }: { seqno: number }) => seqno);
  const head = chain.headSeqno;

  it.each(['1.2', '1.3'] as const)('are listed in order of seqno by dialect %s', (dialect) => {
    const expected = Array.from({ length: 50 }, (_, n) => head - n);
    expect(listed('blocks?workchain=-1&sort=desc&limit=50', { dialect })).toEqual(expected);
    expect(listed('blocks?workchain=-1&sort=asc&limit=2', { dialect })).toEqual([FIRST, FIRST + 1]);
  });

  it('do not include a block that is committed later', () => {
    const delayed = chainOf();
    const missing = delayed.headSeqno + 1;
    delayed.delay(missing, 4000);
    delayed.advanceTo(NOW + 3 * BLOCK_MS);
    expect(listed('blocks?workchain=-1&sort=desc&limit=3', { of: delayed })).toEqual([
      missing + 2,
      missing + 1,
      missing - 1,
    ]);
    expect(ask(`masterchainBlockShards?seqno=${missing}`, { of: delayed }).status).toBe(404);
    expect(ask('masterchainInfo', { of: delayed }).body.last.seqno).toBe(missing + 2);
    delayed.advanceTo(delayed.indexedAt(missing));
    expect(ask(`masterchainBlockShards?seqno=${missing}`, { of: delayed }).status).toBe(200);
  });
});

describe('transactions of one account that are committed out of order', () => {
  const delayed = chainOf();
  const wallet = delayed.idle.all[1];
  const [first, then] = [delayed.headSeqno + 1, delayed.headSeqno + 2];
  for (const seqno of [first, then])
    if (wallet !== undefined) delayed.deposit(wallet, delayed.clock.committedAt(seqno));
  delayed.delay(first, 1400);
  delayed.advanceTo(delayed.indexedAt(first));
  const before = { of: delayed, instant: delayed.indexedAt(first) - 1 };

  it('add a row below the newest one, and leave the state unchanged', () => {
    const list = `transactions?account=${wallet?.address}&limit=1000`;
    const seqnosOf = (rows: readonly Row[]) => rows.map((row) => row.mc_block_seqno);
    expect(seqnosOf(rowsOf(list, before))).not.toContain(first);
    expect(seqnosOf(rowsOf(list, before))).toContain(then);
    expect(seqnosOf(rowsOf(list, { of: delayed }))).toContain(first);
    const state = `addressInformation?address=${wallet?.address}`;
    expect(ask(state, { of: delayed }).body).toEqual(ask(state, before).body);
  });

  it('appear as separate states among the past answers', () => {
    const target = `/api/v3/transactions?account=${wallet?.address}&limit=1000`;
    const states = pastAnswers({ method: 'GET', target, headers: {} }, delayed, '1.3');
    expect(states.map(({ fromAt }) => fromAt)).toEqual(
      expect.arrayContaining([delayed.indexedAt(first), delayed.indexedAt(then)]),
    );
    for (const { fromAt, said } of states.slice(1)) {
      const { body } = ask(target.slice('/api/v3/'.length), { of: delayed, instant: fromAt });
      expect(JSON.parse(said().text)).toEqual(body);
    }
  });
});

describe('a newcomer', () => {
  it('has rows only in its first block, and 2 and 12 blocks after it', () => {
    const newcomer = chain.idle.newcomerBy(FIRST + 60);
    const seqnos = rowsInBlocks(newcomer?.address ?? '').map((row) => row.mc_block_seqno - FIRST);
    expect(seqnos).toEqual([72, 62, 60]);
  });

  it('does not exist without `newcomerEveryMs`', () => {
    const without = new Chain({ startAt: START, idle: { count: 1, everyMs: 1000 } });
    expect(without.idle.newcomerBy(without.headSeqno)).toBeUndefined();
    const quiet = new Chain({ startAt: START, idle: { count: 1, everyMs: Number.POSITIVE_INFINITY } });
    expect(quiet.idle.activeIn(quiet.headSeqno)).toEqual([]);
  });
});
