import { describe, expect, test } from 'vitest';
import { cacheKey } from '../../../../src/ton/cache-key.ts';
import { showsRow } from '../../../../src/ton/evidence.ts';
import { finalityOf } from '../../../../src/ton/finality.ts';
import { ACCOUNT, callOf, requestOf } from '../requests.ts';

const LISTS = { accountStates: 'accounts', walletStates: 'wallets', 'jetton/masters': 'jetton_masters' } as const;
const OPERATIONS = ['accountStates', 'walletStates', 'jetton/masters'] as const;
const ROW = { address: ACCOUNT, last_transaction_lt: '50' };

describe.each(OPERATIONS)('%s', (name) => {
  const { operation, request } = callOf(name, `address=${ACCOUNT}`);
  const listOf = (...rows: readonly unknown[]) => ({ [LISTS[name]]: rows });
  const evidenceIn = (...rows: readonly unknown[]) => operation.evidence?.(request, listOf(...rows));

  test('shows each transaction up to that of its row, for a minute', () => {
    const evidence = evidenceIn(ROW);
    expect(evidence).toMatchObject({ accounts: [ACCOUNT], hasClaims: true });
    const shows = (lt: bigint) => evidence && showsRow(evidence, { lt, hash: '', now: 0 });
    expect([shows(50n), shows(51n)]).toEqual([true, false]);
  });

  test.each([
    ['no row', []],
    ['the row of another account', [{ ...ROW, address: `0:${'0'.repeat(64)}` }]],
    ['two rows', [ROW, ROW]],
    ['a row without a logical time', [{ ...ROW, last_transaction_lt: 50 }]],
  ])('is never proven with %s', (_, rows) => {
    expect(evidenceIn(...rows)).toBe(undefined);
  });

  test('is live, and the row of a later transaction replaces it', () => {
    expect(finalityOf({ operation, request }, 200, listOf())).toEqual({ rule: 'accountLive' });
    const orderOf = (...rows: readonly unknown[]) =>
      operation.completeness({ rule: 'accountLive' }, listOf(...rows), request).order;
    expect([orderOf(), orderOf(ROW)]).toEqual([0n, 50n]);
  });

  test.each(['address=', `address=${ACCOUNT}&address=`])('refuses %s, so that no indexer sees it', (query) => {
    expect(() => callOf(name, query)).toThrow(expect.objectContaining({ code: 'invalid-request' }));
  });

  test.each([
    '',
    `address=${ACCOUNT},${ACCOUNT}`,
    `address=${ACCOUNT}&address=0:${'0'.repeat(64)}`,
    `address=${ACCOUNT}&code_hash=x`,
  ])('has no cached form for %j', (query) => {
    expect(() => callOf(name, query)).toThrow(expect.objectContaining({ code: 'not-cacheable' }));
  });
});

test.each(['accountStates', 'walletStates'] as const)('%s without code has a key of its own', (name) => {
  const keyOf = (more: string) => cacheKey('mainnet', callOf(name, `address=${ACCOUNT}${more}`));
  expect(keyOf('&include_boc=true')).toBe(keyOf(''));
  for (const word of ['false', '0', '']) expect(keyOf(`&include_boc=${word}`)).toBe(keyOf('&include_boc=f'));
  expect(keyOf('&include_boc=f')).not.toBe(keyOf(''));
  expect(requestOf(name, `address=${ACCOUNT}&include_boc=0`).query).toContainEqual(['include_boc', 'false']);
});
