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

/** `count` rows of round N, the masterchain block among them. */
const round = (count: number) => [
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
    ['the whole round', '', round(3)],
    ['the masterchain block alone', '', round(1)],
    ['the whole round, in any order', '', round(3).toReversed()],
    ['offset 0', '&offset=0', round(3)],
    ['one row fewer than the limit', '&limit=4', round(3)],
    ['one row fewer than a limit of 10', '&limit=10', round(9)],
    ['9 rows, limit omitted', '', round(9)],
    ['11 rows, limit omitted', '', round(11)],
    ['99 rows, limit omitted', '', round(99)],
    ['101 rows, limit omitted', '', round(101)],
    ['10 rows of 11', '&limit=11', round(10)],
    ['100 rows of 1000', '&limit=1000', round(100)],
    ['a sorted list', '&sort=asc', round(3)],
  ])('%s: final', (_, rest, blocks) => expect(rule(rest, { blocks })).toBe('shardsFinal'));

  test.each([
    ['as many rows as the limit', '&limit=3', round(3)],
    ['one row of one', '&limit=1', round(1)],
    ['one row of one, not the masterchain block', '&limit=1', pageOf(1)],
    ['the last page', '&limit=3&offset=3', pageOf(1)],
    ['a page with the masterchain block in it', '&limit=3&offset=3', round(2)],
    ['an offset above 0 and no limit', '&offset=1', round(2)],
    ['a full page with an offset', '&limit=2&offset=2', pageOf(2)],
    ['10 rows, limit omitted: they may be the default page of 10', '', round(10)],
    ['100 rows, limit omitted: they may be the default page of 100', '', round(100)],
  ])('%s: a page', (_, rest, blocks) => expect(rule(rest, { blocks })).toBe('shardsFinalPage'));

  test.each([
    ['the round without its masterchain block', '', pageOf(3)],
    ['the masterchain block of another round', '', [{ ...MASTERCHAIN, seqno: N + 1 }, ...pageOf(2)]],
    ['a shard block with the number of the round', '', [{ ...MASTERCHAIN, workchain: 0 }]],
    ['a number that is a string', '', [{ ...MASTERCHAIN, seqno: `${N}` }]],
    ['a workchain that is a string', '', [{ ...MASTERCHAIN, workchain: '-1' }]],
    ['a masterchain block that is only spelled in a text', '', [{ comment: '"workchain":-1,"seqno":7' }]],
    ['a masterchain block deeper inside', '', [{ block: MASTERCHAIN }]],
    ['a full page with a row of another round', '&limit=3', [...pageOf(2), shardOf(N + 1)]],
    ['a later page with a row of another round', '&limit=3&offset=3', [...pageOf(1), shardOf(N - 1)]],
    ['a page whose references are strings', '&limit=1', [shardOf(`${N}`)]],
    ['a page without references', '&limit=1', [{ workchain: 0, seqno: N }]],
    ['a page whose reference is null', '&limit=1', [{ workchain: 0, seqno: N, masterchain_block_ref: null }]],
    ['more rows than the limit', '&limit=2', round(3)],
    ['a page with a row that is none', '&limit=2', [null, MASTERCHAIN]],
  ])('%s: live', (_, rest, blocks) => expect(rule(rest, { blocks })).toBe('shardsLive'));

  test('a list that a page may have cut is never final, however it is asked for', () => {
    const limit = fc.option(fc.integer({ min: 1, max: 120 }), { nil: undefined });
    const offset = fc.option(fc.integer({ min: 0, max: 120 }), { nil: undefined });
    fc.assert(
      fc.property(limit, offset, fc.integer({ min: 1, max: 120 }), (asked, from, rows) => {
        const rest = `${asked === undefined ? '' : `&limit=${asked}`}${from === undefined ? '' : `&offset=${from}`}`;
        const mayBeCut = (asked === undefined ? [10, 100].includes(rows) : rows >= asked) || (from ?? 0) > 0;
        expect(rule(rest, { blocks: round(rows) }) === 'shardsFinal').toBe(!mayBeCut);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('`transactions`', () => {
  test.each([
    ['all final and of the round', [transaction(), transaction()]],
    ['of an indexer that knows no finality', [transaction({ finality: undefined, emulated: undefined })]],
    ['with a comment that spells another finality', [transaction({ comment: '"finality":"pending","emulated":true' })]],
  ])('%s: a page, for nothing proves that none is missing', (_, transactions) => {
    for (const rest of ['', '&limit=1000', '&limit=1', '&limit=2&offset=2', '&offset=1']) {
      expect(rule(rest, { transactions })).toBe('shardsFinalPage');
    }
  });

  test.each([
    ['one of another round', [transaction(), transaction({ mc_block_seqno: N + 1 })]],
    ['one without a round', [transaction(), transaction({ mc_block_seqno: undefined })]],
    ['a round that is a string', [transaction({ mc_block_seqno: `${N}` })]],
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
