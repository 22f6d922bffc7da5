import { expect, test } from 'vitest';
import { finalityOf } from '../../../../src/ton/finality.ts';
import { seqnoOf } from '../../../../src/ton/parse-call.ts';
import { callOf, refusalOf, requestOf } from '../requests.ts';

const ROW = { hash: 'x', emulated: false, mc_block_seqno: 7, finality: 'finalized', now: 1 };
const PAGE = { rule: 'shardsFinalPage' };
const LIVE = { rule: 'shardsLive' };

const classify = (...transactions: readonly unknown[]) =>
  finalityOf(callOf('transactionsByMasterchainBlock', 'seqno=7'), 200, { transactions });

test('a list is a final page if all of its rows are final and belong to the block', () => {
  expect(classify(ROW)).toEqual(PAGE);
  expect(classify(ROW, { ...ROW, hash: 'y' })).toEqual(PAGE);
  for (const other of [{ mc_block_seqno: 8 }, { finality: 'pending' }, { emulated: true }, { mc_block_seqno: null }]) {
    expect(classify(ROW, { ...ROW, ...other })).toEqual(LIVE);
  }
});

test('an empty page is absent, because it does not show that its block exists', () => {
  expect(classify()).toEqual({ rule: 'emptyOfBlock' });
});

test('a final page ranks above a live one and above an empty one, and gives the chain point', () => {
  const { operation, request } = callOf('transactionsByMasterchainBlock', 'seqno=7');
  const rankOf = (...transactions: readonly unknown[]) => {
    const finality = classify(...transactions);
    return finality && operation.completeness(finality, { transactions }, request).rank;
  };
  expect([rankOf(), rankOf({ ...ROW, mc_block_seqno: 8 }), rankOf(ROW)]).toEqual([0, 1, 2]);
  expect(operation.chainPoint({ transactions: [ROW] })).toEqual({ at: 1000, seqno: 7 });
});

test('the cached form contains the seqno of the block, which is also its purge tag', () => {
  const call = callOf('transactionsByMasterchainBlock', 'SEQNO=007&sort=D&limit=10');
  expect([call.tags, seqnoOf(call)]).toEqual([['seqno:7'], 7]);
  expect(call.request.query).toEqual([
    ['seqno', '7'],
    ['limit', '10'],
    ['sort', 'desc'],
  ]);
  expect(requestOf('transactionsByMasterchainBlock', 'seqno=7&x_no_address_book=1').headers).toHaveLength(1);
});

test.each(['', 'seqno=', 'seqno=x', 'seqno=7&seqno=7', 'seqno=7&sort=foo', 'seqno=7&account=x'])(
  '%j has no cached form',
  (query) => {
    expect(refusalOf('transactionsByMasterchainBlock', query)).toMatch(/; PASSTHROUGH does not allow it$/);
  },
);
