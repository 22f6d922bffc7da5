import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { askedSeqno, highestSeqnoIn } from '../../../src/ton/masterchain-seqno.ts';
import { callOf, HASH_HEX } from './requests.ts';

const SHARDS = callOf('masterchainBlockShards', 'seqno=7&limit=3');
const ADJACENT = callOf('adjacentTransactions', `hash=${HASH_HEX}`);
const PENDING = callOf('pendingTraces', `ext_msg_hash=${HASH_HEX}`);

test('only a call for the blocks of a masterchain block names one', () => {
  expect([SHARDS, ADJACENT, PENDING].map(askedSeqno)).toEqual([7, undefined, undefined]);
});

describe('the highest seqno in an answer', () => {
  test('is that of a masterchain block, never of a shard block', () => {
    const blocks = [
      { workchain: 0, seqno: 99 },
      { workchain: -1, seqno: 7 },
    ];
    expect(highestSeqnoIn(SHARDS, { blocks })).toBe(7);
  });

  test('is that of final transactions alone', () => {
    const transactions = [
      { mc_block_seqno: 5, emulated: false },
      { mc_block_seqno: 6, emulated: false, finality: 'finalized' },
      { mc_block_seqno: 8, emulated: true },
      { mc_block_seqno: 9, emulated: false, finality: 'confirmed' },
    ];
    expect(highestSeqnoIn(ADJACENT, { transactions })).toBe(6);
    expect(highestSeqnoIn(PENDING, { traces: [{ transactions }], transactions })).toBeUndefined();
  });

  test.each([undefined, null, '7', -1, 1.5, 2 ** 31, Number.NaN])('is not %s', (seqno) => {
    expect(highestSeqnoIn(SHARDS, { blocks: [{ workchain: -1, seqno }] })).toBeUndefined();
  });

  test('is looked for in all lists of an operation', () => {
    const lower = { blocks: [{ workchain: -1, seqno: 7 }], transactions: [{ mc_block_seqno: 6, emulated: false }] };
    const higher = { ...lower, transactions: [{ mc_block_seqno: 9, emulated: false }] };
    expect([lower, higher].map((body) => highestSeqnoIn(SHARDS, body))).toEqual([7, 9]);
  });

  test('is looked for in any JSON without a throw', () => {
    fc.assert(fc.property(fc.jsonValue(), (body) => void highestSeqnoIn(SHARDS, { blocks: body, transactions: body })));
  });
});
