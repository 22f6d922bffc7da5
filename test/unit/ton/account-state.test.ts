import { describe, expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import type { JsonObject } from '../../../src/json-object.ts';
import { cacheKey } from '../../../src/ton/cache-key.ts';
import { showsRow } from '../../../src/ton/evidence.ts';
import { rulesOf } from '../../../src/ton/explain-call.ts';
import { finalityOf } from '../../../src/ton/finality.ts';
import { FURTHER } from '../../../src/ton/operation-names.ts';
import { ACCOUNT, callOf, EXAMPLES, operationNamed, requestOf } from './requests.ts';

const OPERATIONS = ['addressInformation', 'walletInformation'] as const;
const rowAt = (lt: bigint) => ({ lt, hash: 'hash', now: 0 });

describe.each(OPERATIONS)('%s', (name) => {
  const operation = operationNamed(name);
  const evidenceIn = (body: JsonObject) => operation.evidence?.(requestOf(name, `address=${ACCOUNT}`), body);

  test('shows each transaction up to last_transaction_lt', () => {
    const evidence = evidenceIn({ balance: '1', last_transaction_lt: '18446744073709551615' });
    expect(evidence && [rowAt(2n ** 64n - 1n), rowAt(1n)].every((row) => showsRow(evidence, row))).toBe(true);
    expect(evidence?.accounts).toEqual([ACCOUNT]);
  });

  test('shows no newer transaction', () => {
    const evidence = evidenceIn({ balance: '1', last_transaction_lt: '46000000000000' });
    expect(evidence && showsRow(evidence, rowAt(46000000000001n))).toBe(false);
  });

  test('of an unknown account shows no transaction', () => {
    const evidence = evidenceIn({ balance: '0', status: 'uninit', last_transaction_lt: '0' });
    expect(evidence && showsRow(evidence, rowAt(1n))).toBe(false);
  });

  test.each([undefined, null, 46, '', '-1', '1e3'])('proves nothing if last_transaction_lt is %j', (lt) => {
    expect(evidenceIn({ balance: '1', ...(lt !== undefined && { last_transaction_lt: lt }) })).toBe(undefined);
  });

  test('is always requested without address book and metadata, because the body contains neither', () => {
    const { headers } = callOf(name, `address=${ACCOUNT}`, { 'x-no-address-book': 'false' }).request;
    expect(headers).toEqual([
      ['X-No-Address-Book', 'true'],
      ['X-No-Metadata', 'true'],
    ]);
  });

  test('is live, but a body without a balance is not an answer', () => {
    const call = callOf(name, `address=${ACCOUNT}`);
    expect(finalityOf(call, 200, { balance: '0' })).toEqual({ rule: 'accountLive' });
    expect(finalityOf(call, 200, { address_book: {} })).toBe(undefined);
  });

  test('does not keep a 404', () => {
    const call = callOf(name, `address=${ACCOUNT}`);
    expect(finalityOf(call, 404, { error: 'not found' })?.rule).toBe('notKept');
    expect(rulesOf(call)).toEqual(['accountLive']);
  });

  test.each(['address=', 'address=,', `address=${ACCOUNT}&address=`, 'address'])(
    'refuses %s, so that no indexer sees it',
    (query) => {
      expect(codeOf(() => callOf(name, query))).toBe('invalid-request');
    },
  );

  test.each([
    'include_boc=true',
    'include_boc=false',
    'include_boc=yes&include_boc[]=%zz',
    'INCLUDE%5fBOC',
    'use_v2=',
    'use_v2',
    ...['0', 'f', 'F', 'false', 'False', 'FALSE', '%66alse'].map((value) => `use_v2=${value}`),
    'use_v2=false&Use_V2[]=0',
  ])('has the same key with %s', (more) => {
    const plain = cacheKey('mainnet', callOf(name, `address=${ACCOUNT}`));
    for (const query of [`${more}&address=${ACCOUNT}`, `address=${ACCOUNT}&${more}`]) {
      expect(cacheKey('mainnet', callOf(name, query))).toBe(plain);
    }
  });

  test.each([
    ...['true', '1', 'T', 'on', 'no', 'fALSE', 'false,false', '+false', '%zz'].map((value) => `use_v2=${value}`),
    'use_v2=false&use_v2=true',
    'use_v2=true&use_v2=false',
    'use_v2[0]=true',
    'include_bocs=true',
    'include_boc[0]=1',
    'include_boc[=1',
  ])('has no cached form with %s', (more) => {
    expect(codeOf(() => callOf(name, `address=${ACCOUNT}&${more}`))).toBe('not-cacheable');
  });

  test.each(['', 'use_v2=true', `address=${ACCOUNT}&use_v2=true`, `address=${ACCOUNT},${ACCOUNT}`, 'address=x'])(
    'has no cached form for %j',
    (query) => {
      expect(codeOf(() => callOf(name, query))).toBe('not-cacheable');
    },
  );
});

test.each(['account=', 'account=,,', `account=&account=${ACCOUNT}`])('transactions refuses %s', (query) => {
  expect(codeOf(() => callOf('transactions', query))).toBe('invalid-request');
});

test.each(FURTHER)('%s drops include_boc only if no version of the indexer reads it', (name) => {
  const [query = ''] = EXAMPLES[name].queries;
  const code = codeOf(() => callOf(name, `${query}&include_boc=true`));
  const { unread, queryNames } = operationNamed(name);
  expect(unread.has('include_boc')).toBe(OPERATIONS.some((state) => state === name));
  expect(code).toBe(unread.has('include_boc') || queryNames.has('include_boc') ? 'accepted' : 'not-cacheable');
});

test.each([`account=${ACCOUNT}&offset=1`, `account=${ACCOUNT}&end_lt=7`, `account=${ACCOUNT}&hash=x`, 'start_lt=7'])(
  'transactions has no cached form for %s',
  (query) => {
    expect(codeOf(() => callOf('transactions', query))).toBe('not-cacheable');
  },
);

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof ProxyError) return error.code;
    throw error;
  }
  return 'accepted';
}
