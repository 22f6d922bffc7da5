import { describe, expect, test } from 'vitest';
import { finalityOf } from '../../../src/ton/finality.ts';
import { callOf, HASH_HEX } from './requests.ts';

const NOW = 1_780_000_000;
/** In the canonical form. */
const HASH = Buffer.from(HASH_HEX, 'hex').toString('base64');
const final = (more: object = {}) => ({
  hash: 'x',
  emulated: false,
  mc_block_seqno: 7,
  finality: 'finalized',
  now: NOW,
  ...more,
});
const asOlderIndexersSendIt = { hash: 'x', mc_block_seqno: 7, now: NOW };

/** What keeps a transaction from being final, one thing at a time. */
const NOT_FINAL: readonly (readonly [string, object])[] = [
  ['emulated', final({ emulated: true })],
  ['emulated, in some other words', final({ emulated: 'false' })],
  ['emulated or not: null', final({ emulated: null })],
  ['pending', final({ finality: 'pending' })],
  ['confirmed', final({ finality: 'confirmed' })],
  ['of a finality that nobody knows yet', final({ finality: 'irreversible' })],
  ['of another case of the word', final({ finality: 'FINALIZED' })],
  ['of finality null', final({ finality: null })],
  ['of a finality that is a number', final({ finality: 3 })],
  ['without mc_block_seqno', final({ mc_block_seqno: undefined })],
  ['with mc_block_seqno null', final({ mc_block_seqno: null })],
  ['with mc_block_seqno as a string', final({ mc_block_seqno: '7' })],
  ['with all of it only in a comment', { now: NOW, comment: '"finality":"finalized","mc_block_seqno":7' }],
];

describe.each([
  ['out', '&direction=out'],
  ['omitted', ''],
])('adjacentTransactions, direction %s', (_direction, rest) => {
  const classify = (...transactions: unknown[]) =>
    finalityOf(callOf('adjacentTransactions', `hash=${HASH_HEX}${rest}`), 200, { transactions });
  const live = { answerClass: 'live', rule: 'adjacentLive' };

  const growing = { answerClass: 'growing', rule: 'adjacentGrowing' };
  const noParent = { trace_id: HASH };

  test('all final: growing, with the age of the newest transaction', () => {
    expect(classify(final(noParent))).toEqual({ ...growing, newestNow: NOW });
    expect(classify({ ...asOlderIndexersSendIt, ...noParent })).toEqual({ ...growing, newestNow: NOW });
    expect(classify(final(), final({ now: NOW + 9 }), final({ now: NOW - 9 }))).toEqual({
      ...growing,
      newestNow: NOW + 9,
    });
  });

  test.each(NOT_FINAL)('one that is %s among final ones: live', (_, row) => {
    expect(classify(final(), row)).toEqual(live);
    expect(classify(row)).toEqual(live);
  });

  test.each([
    ['a string', `${NOW}`],
    ['a fraction', NOW + 0.5],
    ['null', null],
    ['missing', undefined],
    ['beyond what a number can hold exactly', 1e300],
  ])('`now` that is %s: live', (_, now) => {
    expect(classify(final(), final({ now }))).toEqual(live);
  });
});

describe('a single row beside a transaction', () => {
  const classify = (rest: string, row: object) =>
    finalityOf(callOf('adjacentTransactions', `hash=${HASH_HEX}${rest}`), 200, { transactions: [final(row)] });

  test('is a child where only children were asked for', () => {
    expect(classify('&direction=out', { trace_id: 'another' })).toHaveProperty('newestNow', NOW);
  });

  test('is a child where that transaction is the first of its trace', () => {
    expect(classify('', { trace_id: HASH })).toHaveProperty('newestNow', NOW);
  });

  test.each([
    ['another transaction begins the trace', { trace_id: 'another' }],
    ['the trace is not known yet', { trace_id: null }],
    ['no trace is named', {}],
  ])('may be the parent where %s: it gives no age', (_, row) => {
    expect(classify('', row)).toEqual({ answerClass: 'growing', rule: 'adjacentGrowing' });
  });
});
