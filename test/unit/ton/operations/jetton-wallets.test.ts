import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/json-object.ts';
import { type ShownWallet, showsRow } from '../../../../src/ton/evidence.ts';
import { finalityOf } from '../../../../src/ton/finality.ts';
import { ownerOf, walletsOf } from '../../../../src/ton/owner-keys.ts';
import { ACCOUNT, callOf, refusalOf, requestOf } from '../requests.ts';

const OWNER = ACCOUNT;
const JETTON = `0:${'D'.repeat(64)}`;
const OTHER = `0:${'E'.repeat(64)}`;
const ADDRESS = `0:${'A'.repeat(64)}`;
const ROW = { address: ADDRESS, owner: OWNER, jetton: JETTON, balance: '7', last_transaction_lt: '50' };
const BY_OWNER = `owner_address=${OWNER}`;

const call = (query: string) => callOf('jetton/wallets', query);
const evidenceIn = (query: string, body: JsonObject) => {
  const { operation, request } = call(query);
  return operation.evidence?.(request, body);
};
const listOf = (...rows: readonly JsonObject[]) => ({ jetton_wallets: rows, address_book: {}, metadata: {} });
const shown = (changes: Partial<ShownWallet> = {}, lt = 50n) => ({
  lt,
  hash: '',
  now: 0,
  wallet: {
    address: ADDRESS,
    owner: OWNER,
    jetton: JETTON,
    isZero: false,
    isByState: false,
    isNewest: true,
    ...changes,
  },
});

/** True if a list shows what a look-up has shown. */
const shows = (query: string, body: JsonObject, ...row: Parameters<typeof shown>) => {
  const evidence = evidenceIn(query, body);
  return evidence && showsRow(evidence, shown(...row));
};

describe('the wallets of an owner', () => {
  test('are touched by the look-ups of the owner and of each listed wallet', () => {
    expect(evidenceIn(BY_OWNER, listOf(ROW))?.accounts).toEqual([walletsOf(OWNER), ownerOf(ADDRESS)]);
    expect(evidenceIn(BY_OWNER, { jetton_wallets: null })?.accounts).toEqual([walletsOf(OWNER)]);
    expect(call(BY_OWNER).operation.touchedBy?.(call(BY_OWNER).request)).toEqual([walletsOf(OWNER)]);
  });

  test('must show a wallet at its newest row', () => {
    expect(shows(BY_OWNER, listOf(ROW), {}, 50n)).toBe(true);
    expect(shows(BY_OWNER, listOf(ROW), {}, 51n)).toBe(false);
    expect(shows(BY_OWNER, listOf())).toBe(false);
  });

  test('must not show a wallet of nobody or of another owner', () => {
    for (const owner of [undefined, OTHER]) {
      expect(shows(BY_OWNER, listOf(ROW), { owner })).toBe(false);
      expect(shows(BY_OWNER, listOf(), { owner })).toBe(true);
    }
  });

  test('of one jetton lack those of other jettons', () => {
    expect(shows(`${BY_OWNER}&jetton_address=${JETTON}`, listOf(), { jetton: OTHER })).toBe(true);
    expect(shows(`${BY_OWNER}&jetton_address=${JETTON}`, listOf(), { jetton: JETTON })).toBe(false);
  });

  test('lack an empty wallet only without zero balances, and never show it at an earlier row', () => {
    const query = `${BY_OWNER}&exclude_zero_balance=true`;
    expect(shows(query, listOf(), { isZero: true })).toBe(true);
    expect(shows(query, listOf(), { isZero: false })).toBe(false);
    expect(shows(query, listOf(ROW), { isZero: true }, 51n)).toBe(false);
    expect(shows(BY_OWNER, listOf(), { isZero: true })).toBe(false);
  });

  test('are not judged by a look-up that a later one has overtaken', () => {
    expect(shows(BY_OWNER, listOf(), { isNewest: false })).toBe(true);
  });

  test.each([
    ['a wallet of another owner', listOf({ ...ROW, owner: OTHER })],
    ['a wallet without a transaction', listOf({ ...ROW, last_transaction_lt: null })],
    ['a wallet twice', listOf(ROW, ROW)],
    ['more than a hundred wallets', listOf(...Array.from({ length: 101 }, (_, n) => ({ ...ROW, address: `0:${n}` })))],
    ['no list', { jetton_wallets: {} }],
  ])('with %s are never proven', (_, body) => {
    expect(evidenceIn(BY_OWNER, body)).toBe(undefined);
  });

  test('of another jetton than requested are never proven', () => {
    expect(evidenceIn(`${BY_OWNER}&jetton_address=${OTHER}`, listOf(ROW))).toBe(undefined);
  });

  test.each([
    [false, listOf(ROW)],
    [false, listOf({ ...ROW, mintless_info: null })],
    [true, listOf({ ...ROW, mintless_info: { is_claimed: false } })],
    [false, { ...listOf(ROW), address_book: { [OWNER]: {} } }],
    [false, { ...listOf(ROW), metadata: { [JETTON]: {} } }],
  ])('show what is claimed of a mintless jetton: %s', (hasClaims, body) => {
    expect(evidenceIn(BY_OWNER, body)?.hasClaims).toBe(hasClaims);
  });

  test('are ordered by the newest transaction of each wallet', () => {
    const { operation, request } = call(BY_OWNER);
    expect(operation.completeness({ rule: 'accountLive' }, listOf(ROW), request).states).toEqual([[ADDRESS, 50n]]);
  });
});

describe('one jetton wallet', () => {
  test('is proven by its own transactions, and for a minute', () => {
    const evidence = evidenceIn(`address=${ADDRESS}`, listOf(ROW));
    expect(evidence).toEqual({ kind: 'state', accounts: [ADDRESS], hasClaims: true, lastLt: 50n });
    expect(call(`address=${ADDRESS}`).operation.touchedBy?.(call(`address=${ADDRESS}`).request)).toBe(undefined);
  });

  test('that is missing, or is another one, is never proven', () => {
    expect(evidenceIn(`address=${ADDRESS}`, listOf())).toBe(undefined);
    expect(evidenceIn(`address=${OTHER}`, listOf(ROW))).toBe(undefined);
  });

  test('that is missing may be deleted: the later answer counts', () => {
    const { operation, request } = call(`address=${ADDRESS}`);
    const orderOf = (body: JsonObject) => operation.completeness({ rule: 'accountLive' }, body, request).order;
    expect([orderOf(listOf()), orderOf(listOf(ROW))]).toEqual([undefined, 50n]);
  });
});

test('every list is live', () => {
  for (const body of [listOf(), listOf(ROW), { jetton_wallets: null }])
    expect(finalityOf(call(BY_OWNER), 200, body)).toEqual({ rule: 'accountLive' });
  expect(finalityOf(call(BY_OWNER), 200, { error: 'x' })).toBe(undefined);
});

test('a flag that is false is not sent', () => {
  expect(requestOf('jetton/wallets', `${BY_OWNER}&exclude_zero_balance=0&offset=0`).query).toEqual([
    ['owner_address', OWNER],
  ]);
  expect(requestOf('jetton/wallets', `${BY_OWNER}&exclude_zero_balance=on`).query).toContainEqual([
    'exclude_zero_balance',
    'true',
  ]);
});

test.each([
  '',
  'limit=10',
  'owner_address=',
  'address=',
  `${BY_OWNER},${OTHER}`,
  `${BY_OWNER}&owner_address=${OTHER}`,
  `${BY_OWNER}&jetton_address=`,
  `${BY_OWNER}&jetton_address=${JETTON},${OTHER}`,
  `${BY_OWNER}&address=${ADDRESS}`,
  `${BY_OWNER}&offset=1`,
  `${BY_OWNER}&exclude_zero_balance=maybe`,
  `${BY_OWNER}&exclude_zero_balance=true&exclude_zero_balance=false`,
  `address=${ADDRESS}&jetton_address=${JETTON}`,
  `address=${ADDRESS}&exclude_zero_balance=true`,
  `jetton_address=${JETTON}`,
])('%j has no cached form', (query) => {
  expect(() => call(query)).toThrow(expect.objectContaining({ code: 'not-cacheable' }));
  expect(refusalOf('jetton/wallets', query)).toBeDefined();
});
