import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chainTimeIn, headIn } from '../../../src/ton/chain-time.ts';
import { callOf, HASH_HEX } from './requests.ts';

const NOW = 1_780_000_000;
const ADJACENT = callOf('adjacentTransactions', `hash=${HASH_HEX}`);
const PARENT = callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=in`);
const SHARDS = callOf('masterchainBlockShards', 'seqno=7');
const PENDING = callOf('pendingTraces', `ext_msg_hash=${HASH_HEX}`);

const row = (now: unknown, more: object = {}) => ({ hash: 'x', now, mc_block_seqno: 7, emulated: false, ...more });
const block = (time: unknown) => ({ workchain: -1, seqno: 7, gen_utime: time });

describe('the newest time in an answer', () => {
  test('is that of its newest final transaction', () => {
    const body = { transactions: [row(NOW - 9), row(NOW), row(NOW - 5)] };
    for (const call of [ADJACENT, PARENT, SHARDS]) expect(chainTimeIn(call, body)).toBe(NOW * 1000);
  });

  test('is that of its newest block, a decimal string or a number', () => {
    expect(chainTimeIn(SHARDS, { blocks: [block(`${NOW - 1}`), block(`${NOW}`)] })).toBe(NOW * 1000);
    expect(chainTimeIn(SHARDS, { blocks: [block(NOW)] })).toBe(NOW * 1000);
  });

  test.each([
    ['emulated', { emulated: true }],
    ['pending', { finality: 'pending' }],
    ['confirmed', { finality: 'confirmed' }],
    ['in no masterchain block', { mc_block_seqno: null }],
  ])('is not that of a transaction that is %s: the database may be behind it', (_, more) => {
    expect(chainTimeIn(ADJACENT, { transactions: [row(NOW), row(NOW + 9, more)] })).toBe(NOW * 1000);
  });

  test('is undefined where an answer has none', () => {
    expect(chainTimeIn(PENDING, { traces: [{ transactions: { x: row(NOW) } }] })).toBeUndefined();
    expect(chainTimeIn(PENDING, { transactions: [row(NOW)] })).toBeUndefined();
    for (const time of [undefined, null, '', 'now', '-5', -5, 0, 1.5, Number.NaN, 1e300, '9'.repeat(20)]) {
      expect(chainTimeIn(ADJACENT, { transactions: [row(time)] })).toBeUndefined();
      expect(chainTimeIn(SHARDS, { blocks: [block(time)] })).toBeUndefined();
    }
    expect(chainTimeIn(ADJACENT, { error: 'not found' })).toBeUndefined();
  });

  test('never throws, whatever the JSON', () => {
    fc.assert(fc.property(fc.jsonValue(), (body) => void chainTimeIn(SHARDS, { blocks: body, transactions: body })));
  });
});

describe('the head', () => {
  const headOf = (text: string) => headIn(Buffer.from(text));

  test('is the newest indexed block', () => {
    const text = `{"last":{"gen_utime":"${NOW}","seqno":7},"first":{"gen_utime":"1","seqno":1}}`;
    expect(headOf(text)).toEqual({ at: NOW * 1000, seqno: 7 });
    expect(headOf(`{"last":{"gen_utime":${NOW}}}`)).toEqual({ at: NOW * 1000, seqno: undefined });
    expect(headOf('{"last":{"seqno":7}}')).toEqual({ at: undefined, seqno: 7 });
  });

  test.each(['-1', '1.5', '"7"', '2147483648', '1e300', 'null'])('has no seqno %s', (seqno) =>
    expect(headOf(`{"last":{"seqno":${seqno}}}`).seqno).toBeUndefined(),
  );

  test.each(['', '<html>', 'null', '[]', '{}', '{"last":null}', '{"last":{}}', '{"last":{"gen_utime":"soon"}}'])(
    'is undefined in %j',
    (text) => expect(headOf(text)).toEqual({ at: undefined, seqno: undefined }),
  );
});
