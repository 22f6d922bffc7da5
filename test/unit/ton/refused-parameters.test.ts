import { describe, expect, test } from 'vitest';
import type { OperationName } from '../../../src/ton/operations.ts';
import { ACCOUNT, ACCOUNT_BOUNCEABLE, HASH_HEX, refusalOf } from './requests.ts';

const HASH = `hash=${HASH_HEX}`;
const MESSAGE = `ext_msg_hash=${HASH_HEX}`;
const BAD_CHECKSUM = `${ACCOUNT_BOUNCEABLE.slice(0, 47)}M`;

type Row = readonly [operation: OperationName, rawQuery: string, parameter: string, accepted: string];

const ROWS: readonly Row[] = [
  // A scalar given twice with different meanings, in whatever spelling of its name.
  ['adjacentTransactions', `${HASH}&hash=${'0'.repeat(64)}`, 'hash', '64 hex digits'],
  ['adjacentTransactions', `${HASH}&HASH[]=${'0'.repeat(64)}`, 'hash', '64 hex digits'],
  ['adjacentTransactions', `${HASH}&direction=in&direction=out`, 'direction', 'in or out'],
  ['adjacentTransactions', `${HASH}&direction=in&direction=both`, 'direction', 'in or out'],
  ['adjacentTransactions', `${HASH}&direction=&direction=out`, 'direction', 'in or out'],
  ['adjacentTransactions', `${HASH}&x_no_address_book=1&x_no_address_book=yes`, 'x_no_address_book', 'true or false'],
  ['masterchainBlockShards', 'seqno=1&seqno=2', 'seqno', '0 to 2147483647'],
  ['masterchainBlockShards', 'seqno=1&seqno=2&seqno=1', 'seqno', '0 to 2147483647'],
  ['masterchainBlockShards', 'seqno=1&limit=5&limit=', 'limit', '1 to 1000'],
  ['masterchainBlockShards', 'seqno=1&offset=5&offset=6', 'offset', 'digits'],
  ['masterchainBlockShards', 'seqno=1&sort=asc&sort=', 'sort', 'asc or desc'],
  // An empty value, with or without its `=`.
  ['adjacentTransactions', 'hash=', 'hash', '64 hex digits'],
  ['adjacentTransactions', 'hash', 'hash', '64 hex digits'],
  ['masterchainBlockShards', 'seqno=', 'seqno', 'plain digits'],
  ['pendingTraces', 'account=', 'account', 'workchain:64 hex digits'],
  ['pendingTraces', `account=${ACCOUNT}&account=`, 'account', 'workchain:64 hex digits'],
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
  // Words that are too long, or not printable ASCII.
  ...['a'.repeat(65), 'a%0Ab', '%C3%A9', '%7F', '%00'].map(
    (word): Row => [
      'pendingTraces',
      `${MESSAGE}&supported_action_types=${word}`,
      'supported_action_types',
      'printable',
    ],
  ),
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
  ...['up', 'descending', 'asc,desc', '1'].map(
    (sort): Row => ['masterchainBlockShards', `seqno=1&sort=${sort}`, 'sort', 'asc or desc'],
  ),
  // Missing.
  ['masterchainBlockShards', 'limit=5', 'seqno', 'plain digits'],
  ['adjacentTransactions', 'direction=in', 'hash', '64 hex digits'],
  ['pendingTraces', '', 'account or ext_msg_hash', 'should be specified'],
  ['pendingTraces', `hash=${HASH_HEX}`, 'account or ext_msg_hash', 'should be specified'],
  // Invalid percent-encoding, and percent-encoded bytes that are no UTF-8.
  ...['%', '%4', '%zz', '%ff', '%E2%82', '%C0%AF', '%ED%A0%80'].flatMap((broken): Row[] => [
    ['adjacentTransactions', `hash=${broken}`, 'hash', 'two hex digits'],
    ['pendingTraces', `${MESSAGE}&supported_action_types=${broken}`, 'supported_action_types', 'two hex digits'],
  ]),
  ['adjacentTransactions', 'hash=\u00c3\u00bc', 'hash', '64 hex digits'],
  // More values than a list may hold, equal ones counted.
  ['pendingTraces', `account=${ACCOUNT}&`.repeat(101), 'account', 'at most 100'],
  ['pendingTraces', `${MESSAGE}${'&supported_action_types=a'.repeat(101)}`, 'supported_action_types', 'at most 100'],
  ['pendingTraces', `ext_msg_hash=${`${HASH_HEX},`.repeat(1000)}${HASH_HEX}`, 'ext_msg_hash', 'at most 1000'],
];

describe('a request is refused, naming the parameter and what is accepted', () => {
  test.each(ROWS)('%s?%.70s', (operation, rawQuery, parameter, accepted) => {
    const refusal = refusalOf(operation, rawQuery);
    expect(refusal).toMatch(new RegExp(`^(?:an? )?${parameter} `));
    expect(refusal).toContain(accepted);
  });

  test.each(['v1, v2', 'v1,nft', 'nft,', 'v1\r\nx: y', 'caf\u00e9', 'v'.repeat(65)])(
    'for the header X-Actions-Version: %j',
    (version) => {
      const refusal = refusalOf('pendingTraces', MESSAGE, { 'x-actions-version': version });
      expect(refusal).toMatch(/^x-actions-version .*accepted: .*at most 64 printable ASCII characters$/);
    },
  );

  test.each(['x-no-address-book', 'x-no-metadata'])(
    'for the header %s that was sent twice with two meanings',
    (name) => {
      for (const value of ['true, false', '1,', 'yes,T', ['true', 'false']]) {
        expect(refusalOf('pendingTraces', MESSAGE, { [name]: value })).toMatch(`${name} is given 2 times`);
      }
    },
  );

  test('for every error at once', () => {
    const refusal = refusalOf('masterchainBlockShards', 'limit=0&offset=x&sort=up');
    for (const name of ['seqno', 'limit', 'offset', 'sort']) expect(refusal).toContain(`${name} is`);
  });

  test('and for errors only', () => {
    expect(refusalOf('adjacentTransactions', `${HASH}&hash=${'0'.repeat(64)}`)).not.toContain('missing');
    expect(refusalOf('pendingTraces', 'account=x')).not.toContain('ext_msg_hash');
  });
});

describe('the limits themselves are accepted', () => {
  test.each([
    'seqno=0',
    'seqno=2147483647',
    'seqno=1&limit=1',
    'seqno=1&limit=1000',
    'seqno=1&offset=0',
    'seqno=1&offset=2147483647',
  ])('%s', (rawQuery) => expect(refusalOf('masterchainBlockShards', rawQuery)).toBeUndefined());

  test('1000 hashes', () => {
    const hashes = Array.from({ length: 1000 }, (_, index) => index.toString(16).padStart(64, '0'));
    expect(refusalOf('pendingTraces', `ext_msg_hash=${hashes.join(',')}`)).toBeUndefined();
  });
});
