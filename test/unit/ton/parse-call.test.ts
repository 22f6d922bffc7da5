import { describe, expect, test } from 'vitest';
import type { OperationName } from '../../../src/ton/operations.ts';
import {
  ACCOUNT,
  HASH,
  HASH_HEX,
  HASH_URL,
  OPERATION_NAMES,
  operationNamed,
  refusalOf,
  requestOf,
} from './requests.ts';

// Spellings of whole requests: the properties of cache-key.test.ts; refusals: test/e2e/refusals.test.ts.

const QUESTION: Record<OperationName, string> = {
  pendingTraces: `ext_msg_hash=${HASH_HEX}`,
  adjacentTransactions: `hash=${HASH_HEX}`,
  masterchainBlockShards: 'seqno=1',
};
const shards = (rawQuery: string) => requestOf('masterchainBlockShards', rawQuery).query;

test.each(OPERATION_NAMES)('no parameter is sent that %s does not read', (name) => {
  const foreign = '_=17&include_actions=true&api_key=k&x_timeout=1&foo=%ff&%zz=1&%=%&x-actions-version=v1&__proto__=1';
  const headers = { 'x-timeout': '1', 'x-api-key': 'k', cookie: 'c', authorization: 'a', 'x-forwarded-for': '::1' };
  expect(requestOf(name, `${foreign}&${QUESTION[name]}`, headers)).toEqual(requestOf(name, QUESTION[name]));
});

test('headers are sent only where the operation reads them, and others are not even checked', () => {
  const all = 'supported_action_types=call&x_no_address_book=1&x_no_metadata=1&sort=asc';
  expect(requestOf('adjacentTransactions', `${QUESTION.adjacentTransactions}&${all}`)).toEqual({
    query: [['hash', HASH]],
    headers: [['X-No-Address-Book', 'true']],
  });
  const { headers } = requestOf('adjacentTransactions', QUESTION.adjacentTransactions, { 'x-actions-version': '\n' });
  expect(headers).toEqual([]);
});

test.each([
  ['pendingTraces', 'X-Actions-Version, X-No-Address-Book, X-No-Metadata'],
  ['adjacentTransactions', 'X-No-Address-Book'],
  ['masterchainBlockShards', ''],
] as const)('answers to %s vary by exactly the headers that are read: %j', (name, vary) => {
  const operation = operationNamed(name);
  expect(operation.vary).toBe(vary);
  expect([...operation.headerNames]).toEqual(vary === '' ? [] : vary.toLowerCase().split(', '));
});

describe('the name of a parameter', () => {
  test.each(['SeqNo%5B%5D=5', '%73eqno=5', '&&seqno=5&', '=&seqno=5'])('is decoded once: %s', (rawQuery) =>
    expect(shards(rawQuery)).toEqual([['seqno', '5']]),
  );

  test.each([
    ...['%2573eqno=6', 'seqno[a]=6', 'seqno[0]=6', 'seqno%5B0%5D=6', 'seqno[0][1]=6', 'seqno[]x=6', ' seqno=6'],
    ...['seqno%00=6', 'seqno.0=6'],
  ])('may only look alike: %s', (rawQuery) => expect(shards(`seqno=5&${rawQuery}`)).toEqual([['seqno', '5']]));
});

test('a scalar may be given twice where both values mean the same', () => {
  const rawQuery = `hash=${HASH_HEX}&hash=${HASH_URL}&direction=both&direction=--&x_no_address_book=1&x_no_address_book=T`;
  expect(requestOf('adjacentTransactions', rawQuery)).toEqual({
    query: [['hash', HASH]],
    headers: [['X-No-Address-Book', 'true']],
  });
  const limit = [
    ['seqno', '5'],
    ['limit', '1'],
  ];
  expect(shards('seqno=5&SEQNO[]=005&limit=1&limit=')).toEqual(limit);
});

test.each(['', 'both', '--', 'IN', 'Out', 'all', 'inout', 'in,out', 'in%20', '%zz', '%ff', '1'])(
  'direction=%s means both directions, as if it were omitted',
  (word) => expect(requestOf('adjacentTransactions', `hash=${HASH}&direction=${word}`).query).toEqual([['hash', HASH]]),
);

test.each([
  ...['seqno=0', 'seqno=2147483647', 'seqno=1&limit=1', 'seqno=1&limit=1000'],
  ...['seqno=1&offset=0', 'seqno=1&offset=2147483647'],
])('the limits themselves are accepted: %s', (rawQuery) =>
  expect(refusalOf('masterchainBlockShards', rawQuery)).toBeUndefined(),
);

test('ext_msg_hash without a value is sent alone, and dropped beside an account', () => {
  expect(requestOf('pendingTraces', 'ext_msg_hash=').query).toEqual([['ext_msg_hash', '']]);
  expect(requestOf('pendingTraces', `ext_msg_hash=,&account=${ACCOUNT}`).query).toEqual([['account', ACCOUNT]]);
});

describe('a list', () => {
  const repeated = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${name}=${index.toString(16).padStart(64, '0')}`).join('&');
  const accounts = (count: number) => repeated('account', count).replaceAll('=', '=0:');
  const actions = (count: number) => `${QUESTION.pendingTraces}&${repeated('supported_action_types', count)}`;

  test.each([
    ['ext_msg_hash', 1000, repeated('ext_msg_hash', 1000), repeated('ext_msg_hash', 1001)],
    ['account', 100, accounts(100), accounts(101)],
    ['supported_action_types', 100, actions(100), actions(101)],
  ])('%s holds at most %d values', (name, most, whole, tooLong) => {
    expect(refusalOf('pendingTraces', whole)).toBeUndefined();
    expect(refusalOf('pendingTraces', tooLong)).toMatch(new RegExp(`^${name} .*at most ${most}`));
  });
});

test.each(['%', '%4', '%zz', '%ff', '%E2%82', '%C0%AF', '%ED%A0%80'])(
  '%s is no text, and the refusal says so',
  (broken) => {
    for (const [name, parameter] of [
      ['adjacentTransactions', 'hash'],
      ['pendingTraces', 'supported_action_types'],
    ] as const) {
      expect(refusalOf(name, `${QUESTION[name]}&${parameter}=${broken}`)).toMatch(
        new RegExp(`^${parameter} .*two hex digits`),
      );
    }
  },
);
