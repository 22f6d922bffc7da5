import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/json-object.ts';
import { finalityOf } from '../../../../src/ton/finality.ts';
import { callOf, HASH, HASH_HEX, requestOf } from '../requests.ts';

const NOW = 1_760_000_000;
const ROW = { hash: HASH, now: NOW, emulated: false, finality: 'finalized', mc_block_seqno: 7 };
const LIVE = { rule: 'byHashLive' };

const rated = (...transactions: readonly JsonObject[]) =>
  finalityOf(callOf('transactions', `hash=${HASH_HEX}`), 200, { transactions });

describe('a transaction by its hash', () => {
  test('is final', () => expect(rated(ROW)).toEqual({ rule: 'byHashFinal' }));

  test('that lacks the account state before it is final, but growing while it is young', () => {
    const lacking = { ...ROW, account_state_before: { hash: 'x', balance: null } };
    const expected = { rule: 'byHashFinal', whileYoung: 'byHashGrowing', newestNow: NOW };
    expect(rated(lacking)).toEqual(expected);
  });

  test.each<[string, readonly JsonObject[]]>([
    ['with another hash', [{ ...ROW, hash: 'x' }]],
    ['next to another row', [ROW, ROW]],
    ['that is emulated', [{ ...ROW, emulated: true }]],
    ['with an unknown finality', [{ ...ROW, finality: 'sure' }]],
  ])('%s is live', (_, rows) => expect(rated(...rows)).toEqual(LIVE));
});

test('a final transaction ranks above a pending one and above none, and gives the chain point', () => {
  const { operation, request } = callOf('transactions', `hash=${HASH_HEX}`);
  const rankOf = (...transactions: readonly JsonObject[]) => {
    const finality = rated(...transactions);
    return finality && operation.completeness(finality, { transactions }, request).rank;
  };
  expect([rankOf(), rankOf({ ...ROW, finality: 'pending' }), rankOf(ROW)]).toEqual([0, 1, 3]);
  expect(operation.chainPoint({ transactions: [ROW] })).toEqual({ at: NOW * 1000, seqno: 7 });
});

test('a page of an account is ordered by its rows, and a transaction by its hash is not', () => {
  const orderOf = (query: string) => {
    const { operation, request } = callOf('transactions', query);
    const body = { transactions: [{ ...ROW, lt: '2', prev_trans_lt: '1' }] };
    const finality = operation.finality(body, request);
    return finality && operation.completeness(finality, body, request).order;
  };
  expect(orderOf(`account=0:${HASH_HEX}`)).toBeDefined();
  expect(orderOf(`hash=${HASH_HEX}`)).toBeUndefined();
});

test('the cached form by hash has one hash and no other filter', () => {
  expect(requestOf('transactions', `HASH=${HASH_HEX}&offset=&limit=5`).query).toEqual([
    ['hash', HASH],
    ['limit', '5'],
  ]);
  for (const query of ['', 'mc_seqno=7', 'hash=', `hash=${HASH_HEX}&lt=1`, `hash=${HASH_HEX},${HASH_HEX}`, 'account=x'])
    expect(() => requestOf('transactions', query), query).toThrow(expect.objectContaining({ code: 'not-cacheable' }));
});
