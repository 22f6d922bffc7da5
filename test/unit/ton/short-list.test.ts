import { describe, expect, test } from 'vitest';
import { cacheKey } from '../../../src/ton/cache-key.ts';
import { isShortList, shortListKey } from '../../../src/ton/short-list.ts';
import { callOf, HASH_HEX } from './requests.ts';

const FINAL = { answerClass: 'final', rule: 'shardsFinal' } as const;
const PAGE = { answerClass: 'final-page', rule: 'shardsFinalPage' } as const;
const rows = (count: number) => ({ blocks: Array.from({ length: count }, () => ({})) });

function shortKey(operation: Parameters<typeof callOf>[0], query: string): string | undefined {
  const call = callOf(operation, query);
  return shortListKey(call, cacheKey('net', call));
}

test('a complete list of fewer than 10 blocks is short', () => {
  expect([0, 9, 10].map((count) => isShortList(FINAL, rows(count)))).toEqual([true, true, false]);
  expect(isShortList(PAGE, rows(3))).toBe(false);
});

test('that a block is not there is a short list too: it is not for any limit', () => {
  expect(isShortList({ answerClass: 'absent', rule: 'notFound' }, { error: 'blocks not found' })).toBe(true);
  expect(isShortList({ answerClass: 'absent', rule: 'empty' }, rows(0))).toBe(false);
});

describe('the key of a short list', () => {
  test('is one for all limits from 10 on, and for none', () => {
    const keys = ['', '&limit=10', '&limit=1000', '&offset=0', '&limit=50&offset=0'].map((more) =>
      shortKey('masterchainBlockShards', `seqno=7${more}`),
    );
    expect(new Set(keys).size).toBe(1);
    expect(keys).not.toContain(undefined);
  });

  test('is another one for another block and another order', () => {
    const keys = ['seqno=7', 'seqno=8', 'seqno=7&sort=asc', 'seqno=7&sort=desc'].map((query) =>
      shortKey('masterchainBlockShards', query),
    );
    expect(new Set(keys).size).toBe(4);
  });

  test.each(['limit=9', 'limit=1', 'limit=', 'offset=1', 'limit=100&offset=2'])('is not there for %s', (page) => {
    expect(shortKey('masterchainBlockShards', `seqno=7&${page}`)).toBeUndefined();
  });

  test('is no key that a call can have of itself', () => {
    const call = callOf('masterchainBlockShards', 'seqno=7');
    expect(shortListKey(call, cacheKey('net', call))).not.toBe(cacheKey('net', call));
    expect(shortKey('adjacentTransactions', `hash=${HASH_HEX}`)).toBeUndefined();
    expect(shortKey('pendingTraces', `ext_msg_hash=${HASH_HEX}`)).toBeUndefined();
  });
});
