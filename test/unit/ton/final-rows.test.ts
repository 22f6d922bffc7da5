import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json-object.ts';
import { ASKED_AT, entryOf } from '../answer/classified.ts';
import { callOf, HASH_HEX } from './requests.ts';

const NOW = Math.floor(ASKED_AT / 1000);
const BARE = { hash: 'x', balance: null, account_status: null, data_hash: null };
const FULL = { ...BARE, balance: '1', account_status: 'active' };

/** The class of an answer with a parent: one row, this number of seconds older than `ASKED_AT`, at this chain time. */
function classOf(state: JsonObject | null, ageSeconds: number, chain: { at?: number | undefined } = { at: ASKED_AT }) {
  const row = { hash: 'x', now: NOW - ageSeconds, mc_block_seqno: 7, emulated: false, account_state_before: state };
  const body = JSON.stringify({ transactions: [row] });
  return entryOf(callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=in`), { body, chainAt: chain.at }).meta
    .answerClass;
}

test('an answer whose row lacks the account state before it is growing until the row is 10 s old, then final', () => {
  expect([0, 9, 10, 3600].map((age) => classOf(BARE, age))).toEqual(['growing', 'growing', 'final', 'final']);
});

test('the age of a row counts up to the chain time, and is 0 if that is unknown', () => {
  expect(classOf(BARE, 3600, { at: ASKED_AT - 3_595_000 })).toBe('growing');
  expect(classOf(BARE, 3600, {})).toBe('growing');
});

test.each([
  ['a full state', FULL],
  ['null as its state', null],
  ['a state of only a hash and a balance', { hash: 'x', balance: '0' }],
])('an answer whose young row has %s is final', (_, state) => expect(classOf(state, 0)).toBe('final'));

test('an answer whose row lacks its state and has no time is growing, with the shortest lifetime', () => {
  const body = JSON.stringify({
    transactions: [{ hash: 'x', mc_block_seqno: 7, emulated: false, account_state_before: BARE }],
  });
  const entry = entryOf(callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=in`), { body });
  expect(entry).toMatchObject({ meta: { answerClass: 'growing' }, lifetime: 1000 });
});
