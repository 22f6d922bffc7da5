import { describe, expect, test } from 'vitest';
import type { OperationName } from '../../../src/ton/operations.ts';
import { ACCOUNT, ACCOUNT_BOUNCEABLE, HASH_HEX, refusalOf } from './requests.ts';

const HASH = `hash=${HASH_HEX}`;
const MESSAGE = `ext_msg_hash=${HASH_HEX}`;
const BAD_CHECKSUM = `${ACCOUNT_BOUNCEABLE.slice(0, 47)}M`;

type Row = readonly [operation: OperationName, rawQuery: string, parameter: string, accepted: string];

const ROWS: readonly Row[] = [
  // A scalar given twice, in whatever spelling of its name, and even if both say the same.
  ['adjacentTransactions', `${HASH}&${HASH}`, 'hash', '64 hex digits'],
  ['adjacentTransactions', `${HASH}&HASH[]=${HASH_HEX}`, 'hash', '64 hex digits'],
  ['adjacentTransactions', `${HASH}&direction=in&direction=in`, 'direction', 'in or out'],
  ['adjacentTransactions', `${HASH}&x_no_address_book=1&x_no_address_book=1`, 'x_no_address_book', 'true or false'],
  ['masterchainBlockShards', 'seqno=1&seqno=1', 'seqno', '0 to 2147483647'],
  ['masterchainBlockShards', 'seqno=1&limit=5&limit=5', 'limit', '1 to 1000'],
  ['masterchainBlockShards', 'seqno=1&offset=5&offset=5', 'offset', 'digits'],
  ['masterchainBlockShards', 'seqno=1&sort=asc&sort=asc', 'sort', 'asc or desc'],
  // An empty value, with or without its `=`, and in a list too.
  ['adjacentTransactions', 'hash=', 'hash', '64 hex digits'],
  ['adjacentTransactions', 'hash', 'hash', '64 hex digits'],
  ['adjacentTransactions', `${HASH}&direction=`, 'direction', 'in or out'],
  ['masterchainBlockShards', 'seqno=', 'seqno', 'plain digits'],
  ['masterchainBlockShards', 'seqno=1&limit=', 'limit', '1 to 1000'],
  ['masterchainBlockShards', 'seqno=1&sort', 'sort', 'asc or desc'],
  ['pendingTraces', 'account=', 'account', 'workchain:64 hex digits'],
  ['pendingTraces', `account=${ACCOUNT}&account=`, 'account', 'workchain:64 hex digits'],
  ['pendingTraces', `account=${ACCOUNT}&ext_msg_hash=`, 'ext_msg_hash', '64 hex digits'],
  ['pendingTraces', `${MESSAGE},`, 'ext_msg_hash', '64 hex digits'],
  ['pendingTraces', `ext_msg_hash=${HASH_HEX},,${HASH_HEX}`, 'ext_msg_hash', '64 hex digits'],
  ['pendingTraces', `${MESSAGE}&supported_action_types=`, 'supported_action_types', 'words'],
  ['pendingTraces', `${MESSAGE}&supported_action_types=a,,b`, 'supported_action_types', 'words'],
  ['pendingTraces', `${MESSAGE}&x_no_metadata=`, 'x_no_metadata', 'true or false'],
  // Bad CRC, bad length, a workchain that is no int8, one bad value among good ones.
  ['pendingTraces', `account=${BAD_CHECKSUM}`, 'account', 'user-friendly'],
  ['pendingTraces', `account=${ACCOUNT_BOUNCEABLE}A`, 'account', 'user-friendly'],
  ['pendingTraces', `account=${ACCOUNT.slice(0, -1)}`, 'account', 'workchain:64 hex digits'],
  ['pendingTraces', `account=128${ACCOUNT.slice(1)}`, 'account', 'workchain:64 hex digits'],
  ['pendingTraces', `account=-129${ACCOUNT.slice(1)}`, 'account', 'workchain:64 hex digits'],
  ['pendingTraces', `account=${ACCOUNT}&account=${BAD_CHECKSUM}`, 'account', 'user-friendly'],
  ['pendingTraces', `account=${ACCOUNT},${ACCOUNT}`, 'account', 'workchain:64 hex digits'],
  ['pendingTraces', `ext_msg_hash=${HASH_HEX}0`, 'ext_msg_hash', '64 hex digits'],
  ['pendingTraces', `ext_msg_hash=${HASH_HEX},x`, 'ext_msg_hash', '64 hex digits'],
  ['pendingTraces', `${MESSAGE}&supported_action_types=a%26b`, 'supported_action_types', 'words'],
  ['pendingTraces', `${MESSAGE}&supported_action_types=${'a'.repeat(65)}`, 'supported_action_types', 'words'],
  ['adjacentTransactions', `hash=${HASH_HEX.slice(1)}`, 'hash', '64 hex digits'],
  ['adjacentTransactions', `hash=${HASH_HEX},${HASH_HEX}`, 'hash', '64 hex digits'],
  // Numbers that are not plain digits, or out of range.
  ...['-1', '+1', '1.0', '1e3', '0x10', ' 1', '1%20', '٣', 'NaN', 'Infinity', '2147483648', '9'.repeat(400)].map(
    (seqno): Row => ['masterchainBlockShards', `seqno=${seqno}`, 'seqno', '0 to 2147483647'],
  ),
  ...['0', '1001', '-5', '1_0', '01x'].map(
    (limit): Row => ['masterchainBlockShards', `seqno=1&limit=${limit}`, 'limit', '1 to 1000'],
  ),
  ...['-1', '-0', 'one', '9'.repeat(400)].map(
    (offset): Row => ['masterchainBlockShards', `seqno=1&offset=${offset}`, 'offset', '0 to'],
  ),
  // Words that are not among the known ones.
  ...['IN', 'both', 'inout', 'in%20', '1'].map(
    (direction): Row => ['adjacentTransactions', `${HASH}&direction=${direction}`, 'direction', 'in or out'],
  ),
  ['masterchainBlockShards', 'seqno=1&sort=up', 'sort', 'asc or desc'],
  ...['yes', 'on', '2', 'truee', 'null', '-1'].map(
    (flag): Row => ['pendingTraces', `${MESSAGE}&x_no_metadata=${flag}`, 'x_no_metadata', 'true or false'],
  ),
  // Missing.
  ['masterchainBlockShards', 'limit=5', 'seqno', 'plain digits'],
  ['adjacentTransactions', 'direction=in', 'hash', '64 hex digits'],
  ['pendingTraces', '', 'account or ext_msg_hash', 'should be specified'],
  ['pendingTraces', `hash=${HASH_HEX}`, 'account or ext_msg_hash', 'should be specified'],
  // Invalid percent-encoding, and percent-encoded bytes that are no UTF-8.
  ...['%', '%4', '%zz', '%ff', '%E2%82', '%C0%AF', '%ED%A0%80'].flatMap((broken): Row[] => [
    ['adjacentTransactions', `hash=${broken}`, 'hash', 'two hex digits'],
    ['pendingTraces', `${MESSAGE}&${broken}=1`, 'parameter name', 'two hex digits'],
  ]),
  ['adjacentTransactions', 'hash=\u00c3\u00bc', 'hash', '64 hex digits'],
  // More than 100 values, equal ones counted.
  ['pendingTraces', `account=${ACCOUNT}&`.repeat(101), 'account', 'at most 100'],
  ['pendingTraces', `ext_msg_hash=${`${HASH_HEX},`.repeat(100)}${HASH_HEX}`, 'ext_msg_hash', 'at most 100'],
];

describe('a request is refused, naming the parameter and what is accepted', () => {
  test.each(ROWS)('%s?%.70s', (operation, rawQuery, parameter, accepted) => {
    const refusal = refusalOf(operation, rawQuery);
    expect(refusal).toMatch(new RegExp(`^(?:an? )?${parameter} `));
    expect(refusal).toContain(accepted);
  });

  test.each(['', 'v0', 'v100', 'v01', 'V1', '1', 'v', 'newest', 'v1, v1', ' v1', 'latest,v1', 'v1\r\nx: y'])(
    'for the header X-Actions-Version: %j',
    (version) => {
      const refusal = refusalOf('pendingTraces', MESSAGE, { 'x-actions-version': version });
      expect(refusal).toMatch(/^x-actions-version .*accepted: latest or v1 to v99$/i);
    },
  );

  test.each(['x-no-address-book', 'x-no-metadata'])('for the header %s', (name) => {
    for (const value of ['', 'yes', 'true, true', 'true\r\n']) {
      expect(refusalOf('pendingTraces', MESSAGE, { [name]: value })).toMatch(`${name} `);
    }
    expect(refusalOf('pendingTraces', MESSAGE, { [name]: ['true', 'true'] })).toMatch(`${name} is given 2 times`);
  });

  test('for everything that is wrong with it at once', () => {
    const refusal = refusalOf('masterchainBlockShards', 'limit=0&offset=x&sort=up');
    for (const name of ['seqno', 'limit', 'offset', 'sort']) expect(refusal).toContain(`${name} is`);
  });

  test('and for nothing more than is wrong', () => {
    expect(refusalOf('adjacentTransactions', `${HASH}&${HASH}`)).not.toContain('missing');
    expect(refusalOf('pendingTraces', 'account=x')).not.toContain('ext_msg_hash');
  });
});

describe('the bounds are accepted', () => {
  test.each([
    'seqno=0',
    'seqno=2147483647',
    'seqno=1&limit=1',
    'seqno=1&limit=1000',
    'seqno=1&offset=0',
    'seqno=1&offset=2147483647',
  ])('%s', (rawQuery) => expect(refusalOf('masterchainBlockShards', rawQuery)).toBeUndefined());

  test('100 hashes', () => {
    const hashes = Array.from({ length: 100 }, (_, index) => index.toString(16).padStart(64, '0'));
    expect(refusalOf('pendingTraces', `ext_msg_hash=${hashes.join(',')}`)).toBeUndefined();
  });
});
