import { describe, expect, test } from 'vitest';
import { callOf } from '../ton/requests.ts';
import { entryOf, failureOf, SHARDS } from './classified.ts';

describe('an answer', () => {
  test.each(['a\r\nSet-Cookie: x=1', 'a\n', 'a\u0000', 'a\u0100', 'a\u007f', 'application/j\u00e9son', ''])(
    'does not keep empty or unsendable header values: %j',
    (text) => {
      expect(entryOf(SHARDS, { contentType: text, apiVersion: text }).meta).toMatchObject({
        contentType: 'application/json',
        apiVersion: undefined,
      });
    },
  );

  test('without Content-Type and version gets application/json and no version', () => {
    expect(entryOf(SHARDS, { contentType: undefined, apiVersion: undefined }).meta).toMatchObject({
      contentType: 'application/json',
      apiVersion: undefined,
    });
  });
});

test('an empty page of a block lives for 2 s if the block was known before the request, and otherwise as any empty list', () => {
  const page = callOf('transactionsByMasterchainBlock', 'seqno=7');
  const lifetimeOf = (awaitedBlock?: number) => entryOf(page, { body: '{"transactions":[]}', awaitedBlock }).lifetime;
  expect([lifetimeOf(), lifetimeOf(7)]).toEqual([2000, 250]);
});

describe('a response that is not an answer', () => {
  test("becomes a failure that keeps the indexer's version if a header can hold it", () => {
    for (const status of [200, 204, 302, 401, 404, 422, 429, 500]) {
      expect(failureOf(SHARDS, { status, body: '{}' }).details.apiVersion).toBe('1.2.3');
      expect(failureOf(SHARDS, { status, body: '{}', apiVersion: 'a\r\nb' }).details.apiVersion).toBeUndefined();
    }
  });
});
