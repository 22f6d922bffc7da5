import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json-object.ts';
import { ASKED_AT, entryOf } from '../answer/classified.ts';
import { callOf, HASH_HEX } from './requests.ts';

const NOW = Math.floor(ASKED_AT / 1000);
const BARE = { hash: 'x', balance: null, account_status: null, data_hash: null };
const FULL = { ...BARE, balance: '1', account_status: 'active' };

/** The class of the answer to who asks for a parent: a row of this age in seconds, by the chain's time. */
function classOf(state: JsonObject | null, ageSeconds: number, chain: { at?: number | undefined } = { at: ASKED_AT }) {
  const row = { hash: 'x', now: NOW - ageSeconds, mc_block_seqno: 7, emulated: false, account_state_before: state };
  const body = JSON.stringify({ transactions: [row] });
  return entryOf(callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=in`), { body, chainAt: chain.at }).meta
    .answerClass;
}

test('a row that lacks the state before it is growing for 10 s, and final after that', () => {
  expect([0, 9, 10, 3600].map((age) => classOf(BARE, age))).toEqual(['growing', 'growing', 'final', 'final']);
});

test('the age counts to where the chain is: an indexer that catches up commits old rows now', () => {
  expect(classOf(BARE, 3600, { at: ASKED_AT - 3_595_000 })).toBe('growing');
  expect(classOf(BARE, 3600, {})).toBe('growing');
});

test.each([
  ['a state', FULL],
  ['no such member', null],
  ['a state of the chain that is nowhere else', { hash: 'x', balance: '0' }],
])('a young row with %s is final', (_, state) => expect(classOf(state, 0)).toBe('final'));

test('a row without a time is growing', () => {
  const body = JSON.stringify({
    transactions: [{ hash: 'x', mc_block_seqno: 7, emulated: false, account_state_before: BARE }],
  });
  const entry = entryOf(callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=in`), { body });
  expect(entry).toMatchObject({ meta: { answerClass: 'growing' }, lifetime: 1000 });
});
