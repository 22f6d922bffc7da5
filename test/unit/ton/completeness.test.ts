import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json-object.ts';
import { orderOfPage } from '../../../src/ton/completeness.ts';
import { finalityOf } from '../../../src/ton/finality.ts';
import type { Call } from '../../../src/ton/parse-call.ts';
import { callOf, HASH, HASH_HEX } from './requests.ts';

const CHILDREN = callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=out`);
const PARENT = callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=in`);
const BLOCK_SET = callOf('masterchainBlockShards', 'seqno=7');

const finalRow = (hash: string) => ({ hash, now: 1_700_000_000, mc_block_seqno: 7, emulated: false });
const NOT_FOUND = { error: 'adjacent transactions not found' };

function completeness(call: Call, status: number, body: JsonObject) {
  const finality = finalityOf(call, status, body);
  if (finality === undefined) throw new Error('no answer to this call');
  return call.operation.completeness(finality, body);
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

  test('is 0 for a page without rows', () => expect(orderOfPage([])).toBe(0n));
});
