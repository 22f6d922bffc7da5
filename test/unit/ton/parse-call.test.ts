import { describe, expect, test } from 'vitest';
import { addressSpellings } from '../../../src/simulator/spellings.ts';
import type { OperationName } from '../../../src/ton/operations.ts';
import type { RequestHeaders } from '../../../src/ton/parse-call.ts';
import {
  ACCOUNT,
  ACCOUNT_BOUNCEABLE,
  ACCOUNT_NON_BOUNCEABLE,
  HASH,
  HASH_HEX,
  HASH_URL,
  OPERATION_NAMES,
  operationNamed,
  requestOf,
} from './requests.ts';

const MASTERCHAIN_ACCOUNT = `-1:${'33'.repeat(32)}`;
const HASH_OF_ZEROS = `${'A'.repeat(43)}=`;
const QUESTION: Record<OperationName, string> = {
  pendingTraces: `ext_msg_hash=${HASH_HEX}`,
  adjacentTransactions: `hash=${HASH_HEX}`,
  masterchainBlockShards: 'seqno=1',
};

const query = (name: OperationName, rawQuery: string, headers?: RequestHeaders) =>
  requestOf(name, rawQuery, headers).query;
const headersOf = (name: OperationName, rawQuery: string, headers?: RequestHeaders) =>
  requestOf(name, rawQuery, headers).headers;
const shards = (rawQuery: string) => query('masterchainBlockShards', rawQuery);
const accounts = (rawQuery: string) => query('pendingTraces', rawQuery).map(([, value]) => value);

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

describe('header and query parameter are one input', () => {
  const pending = (rest: string, headers?: RequestHeaders) =>
    requestOf('pendingTraces', `${QUESTION.pendingTraces}${rest}`, headers);

  test.each(['true', 'True', 'TRUE', 't', 'T', '1'])('for flags that are %s', (yes) => {
    const expected = pending('', { 'x-no-address-book': 'true', 'x-no-metadata': 'true' });
    expect(expected.headers).toEqual([
      ['X-No-Address-Book', 'true'],
      ['X-No-Metadata', 'true'],
    ]);
    expect(pending(`&x_no_address_book=${yes}&X_No_Metadata=${yes}`)).toEqual(expected);
    expect(pending(`&x_no_metadata=${yes}`, { 'x-no-address-book': yes })).toEqual(expected);
  });

  test.each(['false', 'False', 'FALSE', 'f', 'F', '0', '', 'yes', 'on', '2', 'tRUE', 'null', '-1'])(
    'and a flag that is %j counts as omitted',
    (no) => expect(pending(`&x_no_address_book=${no}`, { 'x-no-metadata': no })).toEqual(pending('')),
  );

  test('for a header that was sent twice with one meaning', () => {
    const expected = pending('', { 'x-no-metadata': 'true', 'x-actions-version': 'nft' });
    expect(pending('', { 'x-no-metadata': 'true, 1', 'x-actions-version': 'nft, nft' })).toEqual(expected);
    expect(pending('', { 'x-no-metadata': ['true', 'T'], 'x-actions-version': ['nft', 'nft'] })).toEqual(expected);
    expect(pending('', { 'x-no-metadata': 'yes, false' })).toEqual(pending(''));
  });

  test.each(['latest', 'v1', 'v99', 'V1', 'v0', 'LATEST', 'nft', 'nft.v3', 'dns.v2', 'multisig_approve', 'a b&c=d%'])(
    'for the actions version, shortcut or action type %s, which is sent unchanged',
    (version) => {
      const expected = pending('', { 'x-actions-version': version });
      expect(expected.headers).toEqual([['X-Actions-Version', version]]);
      expect(pending(`&supported_action_types=${encodeURIComponent(version)}`)).toEqual(expected);
      expect(pending('&supported_action_types=call,stake', { 'x-actions-version': version })).toEqual(expected);
    },
  );

  test('and for action types, as a set', () => {
    const expected = [
      ['ext_msg_hash', HASH],
      ['supported_action_types', 'call'],
      ['supported_action_types', 'stake'],
      ['supported_action_types', 'v1'],
    ];
    const words = ['v1', 'stake', 'call', 'stake'];
    const repeated = words.map((word) => `&supported_action_types=${word}`).join('');
    expect(pending(repeated)).toEqual({ query: expected, headers: [] });
    expect(pending(repeated.replaceAll('=', '[]=')).query).toEqual(expected);
  });

  test.each(['v1,v2', ',', '', ' v2', 'v2 '])(
    'and a word that a header cannot hold unchanged stays in the query: %j',
    (word) => {
      const expected = {
        query: [
          ['ext_msg_hash', HASH],
          ['supported_action_types', word],
        ],
        headers: [],
      };
      expect(pending(`&supported_action_types=${encodeURIComponent(word)}`)).toEqual(expected);
      if (word === '') expect(pending('', { 'x-actions-version': '' })).toEqual(expected);
    },
  );

  test.each([
    ['x_no_address_book=true', { 'x-no-address-book': 'false' }],
    ['x_no_metadata=1', { 'x-no-metadata': '0' }],
  ])('and where they differ the header counts: %s', (rest, headers) => {
    expect(pending(`&${rest}`, headers)).toEqual(pending(''));
  });
});
