import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json-object.ts';
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

describe('an answer is more complete', () => {
  test('the higher its class: final, growing, live, absent', () => {
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

describe('an answer whose row lacks the state of its account says so', () => {
  const [lacking, filled] = [null, '5'].map((balance) => ({
    ...finalRow('a'),
    account_state_before: { hash: 's', balance },
  }));

  test.each<[string, Call, (row: JsonObject) => JsonObject]>([
    ['of children', CHILDREN, (row) => ({ transactions: [finalRow('b'), row] })],
    ['of a parent', PARENT, (row) => ({ transactions: [row] })],
    [
      'of a transaction',
      callOf('transactions', `hash=${HASH_HEX}`),
      (row) => ({ transactions: [{ ...row, hash: HASH }] }),
    ],
    ['of a message', callOf('transactionsByMessage', `msg_hash=${HASH_HEX}`), (row) => ({ transactions: [row] })],
    [
      'of a trace',
      callOf('traces', `trace_id=${HASH_HEX}`),
      (row) => ({ traces: [{ trace_id: HASH, transactions: { a: row } }] }),
    ],
  ])('%s', (_, call, bodyOf) => {
    expect(completeness(call, 200, bodyOf(lacking ?? {})).lacksStates).toBe(true);
    expect(completeness(call, 200, bodyOf(filled ?? {})).lacksStates).toBe(false);
  });
});
