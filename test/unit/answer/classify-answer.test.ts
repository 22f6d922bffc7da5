import { describe, expect, test } from 'vitest';
import { entryOf, failureOf, SHARDS } from './classified.ts';

describe('an answer', () => {
  test.each(['a\r\nSet-Cookie: x=1', 'a\n', 'a\u0000', 'a\u0100', 'a\u007f', 'application/j\u00e9son', ''])(
    'keeps no header that could not be sent to clients: %j',
    (text) => {
      expect(entryOf(SHARDS, { contentType: text, apiVersion: text }).meta).toMatchObject({
        contentType: 'application/json',
        apiVersion: undefined,
      });
    },
  );

  test('without a Content-Type becomes JSON, and gets no version that was not sent', () => {
    expect(entryOf(SHARDS, { contentType: undefined, apiVersion: undefined }).meta).toMatchObject({
      contentType: 'application/json',
      apiVersion: undefined,
    });
  });
});

describe('a response that is no answer', () => {
  test("every failure keeps the indexer's version where a header can hold it", () => {
    for (const status of [200, 204, 302, 401, 404, 422, 429, 500]) {
      expect(failureOf(SHARDS, { status, body: '{}' }).details.apiVersion).toBe('1.2.3');
      expect(failureOf(SHARDS, { status, body: '{}', apiVersion: 'a\r\nb' }).details.apiVersion).toBeUndefined();
    }
  });
});
