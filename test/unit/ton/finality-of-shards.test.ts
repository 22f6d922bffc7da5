import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finalityOf } from '../../../src/ton/finality.ts';
import { callOf } from './requests.ts';

const N = 7;
const MASTERCHAIN = { workchain: -1, shard: '8000000000000000', seqno: N };
const shardOf = (seqno: unknown, place = 0) => ({
  workchain: 0,
  shard: `${place}`,
  seqno: 9_000 + place,
  masterchain_block_ref: { workchain: -1, shard: '8000000000000000', seqno },
});

/** `count` blocks that masterchain block N commits, itself among them. */
const blockSet = (count: number) => [
  ...Array.from({ length: count - 1 }, (_, index) => shardOf(N, index)),
  ...(count > 0 ? [MASTERCHAIN] : []),
];
const pageOf = (count: number) => Array.from({ length: count }, (_, index) => shardOf(N, index));
const transaction = (more: object = {}) => ({
  hash: 'x',
  emulated: false,
  mc_block_seqno: N,
  finality: 'finalized',
  ...more,
});

const rule = (rest: string, body: object) =>
  finalityOf(callOf('masterchainBlockShards', `seqno=${N}${rest}`), 200, body)?.rule;

describe('`blocks`', () => {
  test.each([
    ['all blocks', '', blockSet(3)],
    ['the masterchain block alone', '', blockSet(1)],
    ['all blocks, in any order', '', blockSet(3).toReversed()],
    ['offset 0', '&offset=0', blockSet(3)],
    ['one row fewer than the limit', '&limit=4', blockSet(3)],
    ['one row fewer than a limit of 10', '&limit=10', blockSet(9)],
    ['9 rows, limit omitted', '', blockSet(9)],
    ['11 rows, limit omitted', '', blockSet(11)],
    ['99 rows, limit omitted', '', blockSet(99)],
    ['101 rows, limit omitted', '', blockSet(101)],
    ['10 rows of 11', '&limit=11', blockSet(10)],
    ['100 rows of 1000', '&limit=1000', blockSet(100)],
    ['a sorted list', '&sort=asc', blockSet(3)],
  ])('%s: final', (_, rest, blocks) => expect(rule(rest, { blocks })).toBe('shardsFinal'));

  test.each([
    ['as many rows as the limit', '&limit=3', blockSet(3)],
    ['one row of one', '&limit=1', blockSet(1)],
    ['one row of one, not the masterchain block', '&limit=1', pageOf(1)],
    ['the last page', '&limit=3&offset=3', pageOf(1)],
    ['a page with the masterchain block in it', '&limit=3&offset=3', blockSet(2)],
    ['an offset above 0 and no limit', '&offset=1', blockSet(2)],
    ['a full page with an offset', '&limit=2&offset=2', pageOf(2)],
    ['10 rows, limit omitted: they may be the default page of 10', '', blockSet(10)],
    ['100 rows, limit omitted: they may be the default page of 100', '', blockSet(100)],
  ])('%s: a page', (_, rest, blocks) => expect(rule(rest, { blocks })).toBe('shardsFinalPage'));

  test.each([
    ['shard blocks without the masterchain block', '', pageOf(3)],
    ['another masterchain block', '', [{ ...MASTERCHAIN, seqno: N + 1 }, ...pageOf(2)]],
    ['a shard block with the seqno of the masterchain block', '', [{ ...MASTERCHAIN, workchain: 0 }]],
    ['a number that is a string', '', [{ ...MASTERCHAIN, seqno: `${N}` }]],
    ['a workchain that is a string', '', [{ ...MASTERCHAIN, workchain: '-1' }]],
    ['a masterchain block that is only spelled in a text', '', [{ comment: '"workchain":-1,"seqno":7' }]],
    ['a masterchain block deeper inside', '', [{ block: MASTERCHAIN }]],
    ['a full page with a row of another masterchain block', '&limit=3', [...pageOf(2), shardOf(N + 1)]],
    ['a later page with a row of another masterchain block', '&limit=3&offset=3', [...pageOf(1), shardOf(N - 1)]],
    ['a page whose references are strings', '&limit=1', [shardOf(`${N}`)]],
    ['a page without references', '&limit=1', [{ workchain: 0, seqno: N }]],
    ['a page whose reference is null', '&limit=1', [{ workchain: 0, seqno: N, masterchain_block_ref: null }]],
    ['more rows than the limit', '&limit=2', blockSet(3)],
    ['a page with a row that is none', '&limit=2', [null, MASTERCHAIN]],
  ])('%s: live', (_, rest, blocks) => expect(rule(rest, { blocks })).toBe('shardsLive'));

  test('a list that its page may have cut is never final, whatever the parameters', () => {
    const limit = fc.option(fc.integer({ min: 1, max: 120 }), { nil: undefined });
    const offset = fc.option(fc.integer({ min: 0, max: 120 }), { nil: undefined });
    fc.assert(
      fc.property(limit, offset, fc.integer({ min: 1, max: 120 }), (asked, from, rows) => {
        const rest = `${asked === undefined ? '' : `&limit=${asked}`}${from === undefined ? '' : `&offset=${from}`}`;
        const mayBeCut = (asked === undefined ? [10, 100].includes(rows) : rows >= asked) || (from ?? 0) > 0;
        expect(rule(rest, { blocks: blockSet(rows) }) === 'shardsFinal').toBe(!mayBeCut);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('`transactions`', () => {
  test.each([
    ['all final and of the masterchain block', [transaction(), transaction()]],
    ['of an indexer that knows no finality', [transaction({ finality: undefined, emulated: undefined })]],
    ['with a comment that spells another finality', [transaction({ comment: '"finality":"pending","emulated":true' })]],
  ])('%s: a page, because nothing proves that no transaction is missing', (_, transactions) => {
    for (const rest of ['', '&limit=1000', '&limit=1', '&limit=2&offset=2', '&offset=1']) {
      expect(rule(rest, { transactions })).toBe('shardsFinalPage');
    }
  });

  test.each([
    ['one of another masterchain block', [transaction(), transaction({ mc_block_seqno: N + 1 })]],
    ['one without a masterchain block', [transaction(), transaction({ mc_block_seqno: undefined })]],
    ['a masterchain block that is a string', [transaction({ mc_block_seqno: `${N}` })]],
    ['one pending', [transaction({ finality: 'pending' }), transaction()]],
    ['one confirmed', [transaction({ finality: 'confirmed' })]],
    ['one with a word that is not known', [transaction({ finality: 'Finalized' })]],
    ['one emulated', [transaction(), transaction({ emulated: true })]],
    ['a comment that spells finality', [{ comment: '"finality":"finalized","mc_block_seqno":7' }]],
  ])('%s: live', (_, transactions) => {
    expect(rule('', { transactions })).toBe('shardsLive');
    expect(rule('&limit=1000', { transactions })).toBe('shardsLive');
  });
});
