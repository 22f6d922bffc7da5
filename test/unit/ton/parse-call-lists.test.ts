import { describe, expect, test } from 'vitest';
import { addressSpellings } from '../../../src/simulator/spellings.ts';
import { query } from './parsed-query.ts';
import { ACCOUNT, ACCOUNT_BOUNCEABLE, ACCOUNT_NON_BOUNCEABLE, HASH, HASH_HEX, HASH_URL } from './requests.ts';

const MASTERCHAIN_ACCOUNT = `-1:${'33'.repeat(32)}`;
const HASH_OF_ZEROS = `${'A'.repeat(43)}=`;
const accounts = (rawQuery: string) => query('pendingTraces', rawQuery).map(([, value]) => value);

describe('ext_msg_hash', () => {
  const expected = [
    ['ext_msg_hash', HASH],
    ['ext_msg_hash', HASH_OF_ZEROS],
  ];

  test.each([
    `ext_msg_hash=${HASH_HEX}&ext_msg_hash=${HASH_OF_ZEROS}`,
    `ext_msg_hash=${HASH_OF_ZEROS}&ext_msg_hash=${HASH_HEX}`,
    `ext_msg_hash=${HASH_URL},${HASH_OF_ZEROS}`,
    `ext_msg_hash=${HASH_OF_ZEROS}%2C${HASH_URL}&ext_msg_hash[]=${HASH_HEX}`,
    `ext_msg_hash[0]=${HASH_OF_ZEROS}&Ext_Msg_Hash%5B1%5D=${HASH_HEX}`,
    `ext_msg_hash=${HASH_OF_ZEROS},&ext_msg_hash=,${HASH_HEX}&ext_msg_hash=&ext_msg_hash=,,`,
  ])('is a set: repetition, commas, order and empty values do not matter (%#)', (rawQuery) => {
    expect(query('pendingTraces', rawQuery)).toEqual(expected);
  });

  test.each(['ext_msg_hash=', 'ext_msg_hash', 'ext_msg_hash=,&ext_msg_hash[]='])(
    'without any hash is sent to the indexer, which has no traces for it: %s',
    (rawQuery) => {
      expect(query('pendingTraces', rawQuery)).toEqual([['ext_msg_hash', '']]);
      expect(accounts(`${rawQuery}&account=${ACCOUNT}`)).toEqual([ACCOUNT]);
    },
  );
});

describe('account', () => {
  test('keeps the order of the client', () => {
    expect(accounts(`account=${ACCOUNT}&account=${MASTERCHAIN_ACCOUNT}`)).toEqual([ACCOUNT, MASTERCHAIN_ACCOUNT]);
    expect(accounts(`account=${MASTERCHAIN_ACCOUNT}&account=${ACCOUNT}`)).toEqual([MASTERCHAIN_ACCOUNT, ACCOUNT]);
  });

  test('keeps the last of equal accounts, in any spelling', () => {
    const [first, last] = [ACCOUNT_BOUNCEABLE, ACCOUNT_NON_BOUNCEABLE];
    const rawQuery = `account=${first}&account=${MASTERCHAIN_ACCOUNT}&account[]=${last}`;
    expect(accounts(rawQuery)).toEqual([MASTERCHAIN_ACCOUNT, ACCOUNT]);
  });

  test('is sent beside ext_msg_hash: the indexer decides which one counts', () => {
    expect(accounts(`ext_msg_hash=${HASH_HEX}&account=${ACCOUNT}`)).toEqual([ACCOUNT, HASH]);
  });

  test('may hold 100 values', () => {
    const many = Array.from({ length: 100 }, (_, index) =>
      addressSpellings({ workchain: 0, hash: Buffer.alloc(32, index) }),
    );
    expect(accounts(many.map(({ bounceableUrl }) => `account=${bounceableUrl}`).join('&'))).toEqual(
      many.map(({ raw }) => raw),
    );
  });
});
