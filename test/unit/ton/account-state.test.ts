import { describe, expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import type { JsonObject } from '../../../src/json-object.ts';
import { showsRow } from '../../../src/ton/evidence.ts';
import { rulesOf } from '../../../src/ton/explain-call.ts';
import { finalityOf } from '../../../src/ton/finality.ts';
import { ACCOUNT, callOf, operationNamed, requestOf } from './requests.ts';

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
