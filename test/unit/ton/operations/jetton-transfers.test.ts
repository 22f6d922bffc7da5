import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/json-object.ts';
import { showsRow } from '../../../../src/ton/evidence.ts';
import { TRANSFERS_TO_ANYBODY, transfersFrom, transfersOf, transfersTo } from '../../../../src/ton/owner-keys.ts';
import { ACCOUNT, callOf } from '../requests.ts';

const BY_OWNER = `owner_address=${ACCOUNT}`;
const row = (lt: number, now = lt) => ({ transaction_hash: `${lt}`, transaction_lt: `${lt}`, transaction_now: now });
const pageOf = (...rows: readonly JsonObject[]) => ({ jetton_transfers: rows });

const call = (query: string) => callOf('jetton/transfers', query);
const evidenceIn = (query: string, body: JsonObject) => {
  const { operation, request } = call(query);
  return operation.evidence?.(request, body);
};
const shows = (query: string, body: JsonObject, lt: number, now = lt) => {
  const evidence = evidenceIn(query, body);
  return evidence && showsRow(evidence, { lt: BigInt(lt), now, hash: `${lt}` });
};

describe('a page of transfers', () => {
  test.each([
    [`${BY_OWNER}&direction=in`, [transfersTo(ACCOUNT), TRANSFERS_TO_ANYBODY]],
    [`${BY_OWNER}&direction=out`, [transfersFrom(ACCOUNT)]],
    [BY_OWNER, [transfersTo(ACCOUNT), transfersFrom(ACCOUNT), TRANSFERS_TO_ANYBODY]],
    [`jetton_wallet=${ACCOUNT}`, [transfersOf(ACCOUNT)]],
  ])('%s is touched by its own transfers', (query, keys) => {
    expect(evidenceIn(query, pageOf())?.accounts).toEqual(keys);
  });

  test('must show each transfer by hash', () => {
    expect([shows(BY_OWNER, pageOf(row(9)), 9), shows(BY_OWNER, pageOf(row(9)), 8)]).toEqual([true, false]);
    expect(shows(BY_OWNER, { jetton_transfers: null }, 8)).toBe(false);
  });

  test('that is full lacks what is older than its last row by both orders', () => {
    const full = pageOf(row(9), row(5));
    const query = `${BY_OWNER}&limit=2`;
    expect(shows(query, full, 4, 4)).toBe(true);
    // Accounts of several shards are not in one order.
    expect([shows(query, full, 4, 5), shows(query, full, 6, 4), shows(query, full, 7, 7)]).toEqual([
      false,
      false,
      false,
    ]);
    expect(shows(`${BY_OWNER}&limit=3`, full, 4, 4)).toBe(false);
  });

  test.each([10, 100])('of %i rows without a limit may be whole, so it must also show what is older', (count) => {
    const page = pageOf(...Array.from({ length: count }, (_, place) => row(500 - place)));
    expect([shows(BY_OWNER, page, 4), shows(`${BY_OWNER}&limit=${count}`, page, 4)]).toEqual([false, true]);
  });

  test('lacks what is before its start', () => {
    expect([shows(`${BY_OWNER}&start_lt=5`, pageOf(), 4), shows(`${BY_OWNER}&start_lt=5`, pageOf(), 5)]).toEqual([
      true,
      false,
    ]);
    const since = `${BY_OWNER}&start_utime=5`;
    expect([shows(since, pageOf(), 9, 4), shows(since, pageOf(), 9, 5)]).toEqual([true, false]);
  });

  test('with a row that cannot be read is never proven', () => {
    for (const broken of [{}, { ...row(5), transaction_hash: null }, { ...row(5), transaction_lt: 5 }])
      expect(evidenceIn(BY_OWNER, pageOf(broken))).toBe(undefined);
  });

  test('only gains rows, unless it is full', () => {
    const { operation, request } = call(`${BY_OWNER}&limit=2`);
    const hashesIn = (body: JsonObject) => operation.completeness({ rule: 'accountLive' }, body, request).hashes;
    expect([hashesIn(pageOf(row(9))), hashesIn(pageOf(row(9), row(5)))]).toEqual([['9'], []]);
  });

  test('shows the time of its newest transfer', () => {
    const { operation } = call(BY_OWNER);
    expect(operation.chainPoint(pageOf(row(9, 100), row(5, 90)))).toEqual({ at: 100_000, seqno: -1 });
    expect(operation.chainPoint(pageOf())).toEqual({ at: 0, seqno: -1 });
  });
});

test.each([
  '',
  'direction=in',
  ...['IN', 'Out', '', 'both', 'in,out'].map((direction) => `${BY_OWNER}&direction=${direction}`),
  `${BY_OWNER}&direction=in&direction=out`,
  `${BY_OWNER}&sort=asc`,
  `${BY_OWNER}&sort=`,
  `${BY_OWNER}&offset=1`,
  `${BY_OWNER}&end_lt=7`,
  `${BY_OWNER}&jetton_master=${ACCOUNT}`,
  `${BY_OWNER}&jetton_wallet=${ACCOUNT}`,
  `jetton_wallet=${ACCOUNT}&direction=in`,
  `jetton_wallet=${ACCOUNT},${ACCOUNT}`,
  'owner_address=',
])('%j has no cached form', (query) => {
  expect(() => call(query)).toThrow(expect.objectContaining({ code: 'not-cacheable' }));
});
