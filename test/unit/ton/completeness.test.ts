import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HIGHEST_ORDER } from '../../../src/cache/entry.ts';
import type { JsonObject } from '../../../src/json-object.ts';
import { orderOfPage } from '../../../src/ton/completeness.ts';
import { finalityOf } from '../../../src/ton/finality.ts';
import type { Call } from '../../../src/ton/parse-call.ts';
import { ACCOUNT, callOf, HASH, HASH_HEX } from './requests.ts';

const CHILDREN = callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=out`);
const PARENT = callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=in`);
const BLOCK_SET = callOf('masterchainBlockShards', 'seqno=7');

const finalRow = (hash: string) => ({ hash, now: 1_700_000_000, mc_block_seqno: 7, emulated: false });
const NOT_FOUND = { error: 'adjacent transactions not found' };

function completeness(call: Call, status: number, body: JsonObject) {
  const finality = finalityOf(call, status, body);
  if (finality === undefined) throw new Error('no answer to this call');
  return call.operation.completeness(finality, body, call.request);
}

describe('the rank of an answer', () => {
  test('rises with its class: absent, live, growing, final', () => {
    const block = { workchain: -1, seqno: 7 };
    const final = [
      completeness(BLOCK_SET, 200, { blocks: [block] }),
      completeness(PARENT, 200, { transactions: [finalRow('a')] }),
    ].map(({ rank }) => rank);
    const growing = completeness(CHILDREN, 200, { transactions: [finalRow('a')] }).rank;
    const live = completeness(CHILDREN, 200, { transactions: [{ ...finalRow('a'), emulated: true }] }).rank;
    const absent = [completeness(BLOCK_SET, 404, NOT_FOUND), completeness(CHILDREN, 200, { transactions: [] })].map(
      ({ rank }) => rank,
    );
    expect(new Set(final).size).toBe(1);
    expect(new Set(absent).size).toBe(1);
    const inOrder = [...absent.slice(1), live, growing, ...final.slice(1)];
    expect(inOrder).toEqual([...inOrder].sort((a, b) => a - b));
    expect(new Set(inOrder).size).toBe(4);
  });
});

describe('lacksStates is true only if a row lacks its account state:', () => {
  const [lacking, filled] = [null, '5'].map((balance) => ({
    ...finalRow('a'),
    account_state_before: { hash: 's', balance },
  }));

  test.each<[string, Call, (row: JsonObject) => JsonObject]>([
    ['in a list of children', CHILDREN, (row) => ({ transactions: [finalRow('b'), row] })],
    ['in the parent of a transaction', PARENT, (row) => ({ transactions: [row] })],
    [
      'in a transaction by its hash',
      callOf('transactions', `hash=${HASH_HEX}`),
      (row) => ({ transactions: [{ ...row, hash: HASH }] }),
    ],
    [
      'in the transactions of a message',
      callOf('transactionsByMessage', `msg_hash=${HASH_HEX}`),
      (row) => ({ transactions: [row] }),
    ],
    [
      'in a trace',
      callOf('traces', `trace_id=${HASH_HEX}`),
      (row) => ({ traces: [{ trace_id: HASH, transactions: { a: row } }] }),
    ],
  ])('%s', (_, call, bodyOf) => {
    expect(completeness(call, 200, bodyOf(lacking ?? {})).lacksStates).toBe(true);
    expect(completeness(call, 200, bodyOf(filled ?? {})).lacksStates).toBe(false);
  });
});

describe('the order of a page', () => {
  const lt = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n });
  const page = fc.uniqueArray(lt, { minLength: 1, maxLength: 20 });
  const bounds = (lts: readonly bigint[]) => {
    const sorted = lts.toSorted((one, other) => (one < other ? -1 : 1));
    return [sorted.at(-1) ?? 0n, BigInt(lts.length), sorted[0] ?? 0n];
  };

  test('compares the newest row, then the number of rows, then the oldest row', () => {
    fc.assert(
      fc.property(page, page, fc.boolean(), (one, other, hasSameNewest) => {
        const newest = hasSameNewest ? [2n ** 64n - 1n] : [];
        const [first, second] = [one, other].map((lts) => [...new Set([...lts, ...newest])]) as [bigint[], bigint[]];
        const [a, b] = [bounds(first), bounds(second)];
        const at = a.findIndex((number, index) => number !== b[index]);
        const expected = at === -1 ? 0 : (a[at] ?? 0n) > (b[at] ?? 0n) ? 1 : -1;
        const [x, y] = [orderOfPage(first), orderOfPage(second)];
        expect(x === y ? 0 : x > y ? 1 : -1).toBe(expected);
      }),
    );
  });

  test('with the oldest rows first compares the number of rows, then the newest row, where the lower one is better', () => {
    fc.assert(
      fc.property(page, page, fc.boolean(), (one, other, hasSameLength) => {
        const length = hasSameLength ? Math.min(one.length, other.length) : Number.POSITIVE_INFINITY;
        const [first, second] = [one.slice(0, length), other.slice(0, length)];
        const [[a, m = 0n], [b, n = 0n]] = [bounds(first), bounds(second)];
        const expected =
          m !== n ? Number(m > n) - Number(m < n) : Number((a ?? 0n) < (b ?? 0n)) - Number((a ?? 0n) > (b ?? 0n));
        const [x, y] = [orderOfPage(first, true), orderOfPage(second, true)];
        expect(x === y ? 0 : x > y ? 1 : -1).toBe(expected);
      }),
    );
  });

  test.each([true, false])('never falls while rows are committed in any order (ascending: %s)', (isAscending) => {
    const commits = fc.uniqueArray(lt, { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(commits, fc.integer({ min: 1, max: 12 }), (lts, limit) => {
        const orders = lts.map((_, last) => {
          const oldestFirst = lts.slice(0, last + 1).toSorted((one, other) => (one < other ? -1 : 1));
          return orderOfPage((isAscending ? oldestFirst : oldestFirst.toReversed()).slice(0, limit), isAscending);
        });
        expect(orders).toEqual(orders.toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0)));
      }),
    );
  });

  test('is 0 for a page without rows', () => {
    for (const isAscending of [true, false]) expect(orderOfPage([], isAscending)).toBe(0n);
  });

  test('is at most the highest order of an entry', () => {
    const lts = Array.from({ length: 1000 }, (_, at) => 2n ** 64n - 1n - BigInt(at));
    for (const isAscending of [true, false]) expect(orderOfPage(lts, isAscending)).toBeLessThanOrEqual(HIGHEST_ORDER);
    expect(orderOfPage([1n], true)).toBeLessThanOrEqual(HIGHEST_ORDER);
  });
});

describe('the answer of', () => {
  const account = `account=${ACCOUNT}`;
  const row = (lt: unknown) => ({ ...finalRow(`${lt}`), lt, prev_trans_lt: '1' });
  const orderOf = (call: Call, body: JsonObject, status = 200) => completeness(call, status, body).order;

  test.each(['', '&sort=asc'])('transactions has an order if all rows are final and have an lt (%j)', (sort) => {
    const call = callOf('transactions', `${account}${sort}`);
    expect(orderOf(call, { transactions: [row('5'), row('4')] })).toBeGreaterThan(0n);
    for (const empty of [[], null]) expect(orderOf(call, { transactions: empty })).toBe(0n);
    for (const unreadable of [
      row(5),
      row(undefined),
      { ...row('5'), finality: 'pending' },
      { ...row('5'), emulated: true },
    ])
      expect(orderOf(call, { transactions: [row('9'), unreadable] })).toBe(undefined);
  });

  test.each(['addressInformation', 'walletInformation'] as const)('%s has an order if its lt can be read', (name) => {
    const call = callOf(name, `address=${ACCOUNT}`);
    const orders = ['7', '0', 7, null, undefined].map((lt) => orderOf(call, { balance: '1', last_transaction_lt: lt }));
    expect(orders).toEqual([7n, 0n, undefined, undefined, undefined]);
    const [state, absent] = [
      completeness(call, 200, { balance: '1', last_transaction_lt: '7' }),
      completeness(call, 404, NOT_FOUND),
    ];
    expect([absent.order, absent.rank < state.rank]).toEqual([undefined, true]);
  });

  test('transactionsByMessage has an order if its page is full, because such a page loses rows', () => {
    const call = (more: string) => callOf('transactionsByMessage', `msg_hash=${HASH_HEX}${more}`);
    const orderOfOne = (more: string, lt: unknown) => orderOf(call(more), { transactions: [row(lt)] }) ?? -1n;
    expect(orderOfOne('&limit=1', '6')).toBeGreaterThan(orderOfOne('&limit=1', '5'));
    expect(orderOfOne('&limit=1&sort=asc', '5')).toBeGreaterThan(orderOfOne('&limit=1&sort=asc', '6'));
    for (const more of ['', '&limit=2']) expect(orderOfOne(more, '5')).toBe(-1n);
    expect(orderOfOne('&limit=1', 5)).toBe(-1n);
  });
});
