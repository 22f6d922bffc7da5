import { describe, expect, test } from 'vitest';
import type { OperationName } from '../../../src/ton/operations.ts';
import type { RequestHeaders } from '../../../src/ton/parse-call.ts';
import { QUESTION, query } from './parsed-query.ts';
import {
  ACCOUNT,
  ACCOUNT_BOUNCEABLE,
  HASH,
  HASH_HEX,
  HASH_URL,
  OPERATION_NAMES,
  operationNamed,
  requestOf,
} from './requests.ts';

const headersOf = (name: OperationName, rawQuery: string, headers?: RequestHeaders) =>
  requestOf(name, rawQuery, headers).headers;
const shards = (rawQuery: string) => query('masterchainBlockShards', rawQuery);

describe('the request to the indexer', () => {
  test('is canonical: upper-case raw addresses, padded standard base64', () => {
    expect(query('pendingTraces', `account=${ACCOUNT_BOUNCEABLE}&ext_msg_hash=${HASH_HEX}`)).toEqual([
      ['account', ACCOUNT],
      ['ext_msg_hash', HASH],
    ]);
    expect(query('adjacentTransactions', `hash=${HASH_URL}&direction=out`)).toEqual([
      ['hash', HASH],
      ['direction', 'out'],
    ]);
    expect(shards('sort=desc&offset=007&limit=0010&seqno=00')).toEqual([
      ['seqno', '0'],
      ['limit', '10'],
      ['offset', '7'],
      ['sort', 'desc'],
    ]);
  });

  test('has no parameter that was omitted: without limit, offset or direction it is another request', () => {
    expect(shards('seqno=7')).toEqual([['seqno', '7']]);
    expect(shards('seqno=7&offset=0')).toEqual([
      ['seqno', '7'],
      ['offset', '0'],
    ]);
    expect(query('adjacentTransactions', `hash=${HASH_HEX}`)).toEqual([['hash', HASH]]);
  });

  test.each(OPERATION_NAMES)('has no parameter that %s does not read', (name) => {
    const foreign =
      '_=17&include_actions=true&api_key=k&x_timeout=1&foo=%ff&%zz=1&%=%&x-actions-version=v1&__proto__=1';
    const headers = { 'x-timeout': '1', 'x-api-key': 'k', cookie: 'c', authorization: 'a', 'x-forwarded-for': '::1' };
    expect(requestOf(name, `${foreign}&${QUESTION[name]}`, headers)).toEqual(requestOf(name, QUESTION[name]));
  });

  test('has the headers that change the answer only where the operation reads them', () => {
    const headers = { 'x-actions-version': 'v3', 'x-no-address-book': 'true', 'x-no-metadata': 'true' };
    const all = 'supported_action_types=call&x_no_address_book=1&x_no_metadata=1&sort=asc';
    expect(headersOf('pendingTraces', QUESTION.pendingTraces, headers)).toHaveLength(3);
    expect(requestOf('adjacentTransactions', `${QUESTION.adjacentTransactions}&${all}`, headers)).toEqual({
      query: [['hash', HASH]],
      headers: [['X-No-Address-Book', 'true']],
    });
    expect(requestOf('masterchainBlockShards', `seqno=1&${all}`, headers)).toEqual({
      query: [
        ['seqno', '1'],
        ['sort', 'asc'],
      ],
      headers: [],
    });
    // An input that is not read is not classified either.
    expect(headersOf('adjacentTransactions', QUESTION.adjacentTransactions, { 'x-actions-version': 'x' })).toEqual([]);
  });

  test.each([
    ['pendingTraces', 'X-Actions-Version, X-No-Address-Book, X-No-Metadata'],
    ['adjacentTransactions', 'X-No-Address-Book'],
    ['masterchainBlockShards', ''],
  ] as const)('varies for %s by exactly the headers that are read: %j', (name, vary) => {
    const operation = operationNamed(name);
    expect(operation.vary).toBe(vary);
    expect([...operation.headerNames]).toEqual(vary === '' ? [] : vary.toLowerCase().split(', '));
  });
});

describe('names', () => {
  test.each(['seqno=5', 'SEQNO=5', 'seqno[]=5', 'SeqNo%5B%5D=5', '%73eqno=5', '&&seqno=5&', '=&seqno=5'])(
    'are decoded once and matched in any case: %s',
    (rawQuery) => expect(shards(rawQuery)).toEqual([['seqno', '5']]),
  );

  test.each([
    '%2573eqno=6',
    'seqno[a]=6',
    'seqno[0]=6',
    'seqno%5B0%5D=6',
    'seqno[0][1]=6',
    'seqno[]x=6',
    ' seqno=6',
    'seqno%00=6',
    'seqno.0=6',
  ])('that only look alike are refused: %s', (rawQuery) =>
    expect(shards(`seqno=5&${rawQuery}`)).toEqual([['seqno', '5']]),
  );
});

describe('a scalar that is given twice', () => {
  test.each([
    ['seqno=5&seqno=005', [['seqno', '5']]],
    [
      'seqno=5&SEQNO[]=5&limit=1&limit=',
      [
        ['seqno', '5'],
        ['limit', '1'],
      ],
    ],
    [
      'seqno=5&offset=0&offset=',
      [
        ['seqno', '5'],
        ['offset', '0'],
      ],
    ],
    [
      'seqno=5&sort=asc&sort=A',
      [
        ['seqno', '5'],
        ['sort', 'asc'],
      ],
    ],
    ['seqno=5&sort=&sort=', [['seqno', '5']]],
  ])('is accepted where both values mean the same: %s', (rawQuery, expected) =>
    expect(shards(rawQuery)).toEqual(expected),
  );

  test('is accepted for a hash, a direction and a flag too', () => {
    const rawQuery = `hash=${HASH_HEX}&hash=${HASH_URL}&direction=both&direction=--&x_no_address_book=1&x_no_address_book=T`;
    expect(requestOf('adjacentTransactions', rawQuery)).toEqual({
      query: [['hash', HASH]],
      headers: [['X-No-Address-Book', 'true']],
    });
  });
});

describe('an empty value is read as the indexer reads it', () => {
  test.each([
    [
      'seqno=5&limit=',
      [
        ['seqno', '5'],
        ['limit', '1'],
      ],
    ],
    [
      'seqno=5&limit',
      [
        ['seqno', '5'],
        ['limit', '1'],
      ],
    ],
    [
      'seqno=5&offset=',
      [
        ['seqno', '5'],
        ['offset', '0'],
      ],
    ],
    ['seqno=5&sort=', [['seqno', '5']]],
  ])('%s', (rawQuery, expected) => expect(shards(rawQuery)).toEqual(expected));
});

describe('direction', () => {
  test.each(['in', 'out'])('is %s', (word) => {
    expect(query('adjacentTransactions', `hash=${HASH}&direction=${word}`).at(-1)).toEqual(['direction', word]);
  });

  test.each(['', 'both', '--', 'IN', 'Out', 'all', 'inout', 'in,out', 'in%20', '%zz', '%ff', '1'])(
    'means both directions, as if it were omitted: %j',
    (word) => expect(query('adjacentTransactions', `hash=${HASH}&direction=${word}`)).toEqual([['hash', HASH]]),
  );

  test('with an index in brackets is another parameter', () => {
    expect(query('adjacentTransactions', `hash=${HASH}&direction[0]=in&hash[0]=x`)).toEqual([['hash', HASH]]);
  });
});

describe('sort', () => {
  test.each(['asc', 'ASC', 'a', 'desc', 'Desc', 'D'])('%s is a word, its first letter, in any case', (word) => {
    expect(shards(`seqno=1&sort=${word}`).at(-1)).toEqual([
      'sort',
      word.toLowerCase().startsWith('a') ? 'asc' : 'desc',
    ]);
  });
});
