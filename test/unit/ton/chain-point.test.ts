import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json-object.ts';
import { type ChainPoint, headIn } from '../../../src/ton/chain-point.ts';
import type { Call } from '../../../src/ton/parse-call.ts';
import { callOf, HASH_HEX } from './requests.ts';

const NOW = 1_780_000_000;
const ADJACENT = callOf('adjacentTransactions', `hash=${HASH_HEX}`);
const SHARDS = callOf('masterchainBlockShards', 'seqno=7');
const PENDING = callOf('pendingTraces', `ext_msg_hash=${HASH_HEX}`);

const chainPointIn = ({ operation }: Call, body: JsonObject): ChainPoint => operation.chainPoint(body);

const NONE = { at: 0, seqno: -1 };
const row = (now: unknown, more: object = {}) => ({ hash: 'x', now, mc_block_seqno: 7, emulated: false, ...more });
const block = (time: unknown, more: object = {}) => ({ workchain: -1, seqno: 7, gen_utime: time, ...more });

describe('the chain point of an answer', () => {
  test('has the time and seqno of the newest final transaction', () => {
    const transactions = [row(NOW - 9, { mc_block_seqno: 5 }), row(NOW), row(NOW - 5, { mc_block_seqno: 6 })];
    for (const call of [ADJACENT, SHARDS]) {
      expect(chainPointIn(call, { transactions })).toEqual({ at: NOW * 1000, seqno: 7 });
    }
  });

  test('has the time of the newest block and the seqno of the masterchain block', () => {
    const blocks = [block(`${NOW - 1}`), block(NOW, { workchain: 0, seqno: 99 })];
    expect(chainPointIn(SHARDS, { blocks })).toEqual({ at: NOW * 1000, seqno: 7 });
  });

  test.each([
    ['emulated', { emulated: true }],
    ['pending', { finality: 'pending' }],
    ['confirmed', { finality: 'confirmed' }],
    ['not in a masterchain block', { mc_block_seqno: null }],
  ])('ignores a transaction that is %s, because the database may not have it yet', (_, more) => {
    const transactions = [row(NOW), row(NOW + 9, { mc_block_seqno: 9, ...more })];
    expect(chainPointIn(ADJACENT, { transactions })).toEqual({ at: NOW * 1000, seqno: 7 });
  });

  test('is empty for pending traces and errors', () => {
    expect(chainPointIn(PENDING, { traces: [row(NOW)], transactions: [row(NOW)] })).toEqual(NONE);
    expect(chainPointIn(ADJACENT, { error: 'not found' })).toEqual(NONE);
  });

  test.each([undefined, null, '', 'now', '-5', -5, 0, 1.5, Number.NaN, 1e300, '9'.repeat(20)])(
    'has no time if the time in the answer is %s',
    (time) => {
      expect(chainPointIn(ADJACENT, { transactions: [row(time)] }).at).toBe(0);
      expect(chainPointIn(SHARDS, { blocks: [block(time)] }).at).toBe(0);
    },
  );

  test.each([undefined, null, '7', -1, 1.5, 2 ** 31, Number.NaN])(
    'has no seqno if the seqno in the answer is %s',
    (seqno) => {
      expect(chainPointIn(SHARDS, { blocks: [block(NOW, { seqno })] }).seqno).toBe(-1);
    },
  );

  test('is read from any JSON without throwing', () => {
    fc.assert(fc.property(fc.jsonValue(), (body) => void chainPointIn(SHARDS, { blocks: body, transactions: body })));
  });
});

describe('the head', () => {
  const headOf = (text: string) => headIn(Buffer.from(text));

  test('has the time and seqno of the newest block, and the seqno of the oldest one', () => {
    const text = `{"last":{"gen_utime":"${NOW}","seqno":7},"first":{"gen_utime":"1","seqno":1}}`;
    expect(headOf(text)).toEqual({ at: NOW * 1000, seqno: 7, first: 1 });
    expect(headOf(`{"last":{"gen_utime":${NOW}}}`)).toEqual({ at: NOW * 1000, seqno: -1, first: 0 });
  });

  test.each([-239, -3, undefined])('has the global_id of the newest block: %s', (globalId) => {
    expect(headOf(JSON.stringify({ last: { seqno: 7, global_id: globalId } })).globalId).toBe(globalId);
  });

  test.each([null, 7, {}, { seqno: '7' }, { seqno: -1 }])(
    'has 0 as the seqno of the oldest block if the indexer reports %j',
    (first) => {
      expect(headOf(JSON.stringify({ last: { seqno: 9 }, first })).first).toBe(0);
    },
  );

  test.each(['', '<html>', 'null', '[]', '{}', '{"last":null}', '{"last":{}}', '{"last":{"gen_utime":"soon"}}'])(
    'is unknown if the answer is %j',
    (text) => expect(headOf(text)).toEqual({ ...NONE, first: 0 }),
  );
});
