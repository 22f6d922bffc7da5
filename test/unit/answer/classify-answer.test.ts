import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { contentOf } from '../../../src/cache/content.ts';
import { ownedBytes } from '../../../src/cache/entry.ts';
import { bodyOf } from '../../support/entry.ts';
import { ASKED_AT, BLOCK_SET, entryOf, failureOf, PENDING, SHARDS } from './classified.ts';

describe('an answer', () => {
  test('becomes an entry with its bytes and instants', () => {
    const chunk = Buffer.from(`junk${BLOCK_SET}junk`);
    const body = chunk.subarray(4, -4);
    const entry = entryOf(SHARDS, { body, contentType: 'application/json; charset=utf-8' });
    expect(entry).toEqual({
      key: 'the key',
      content: contentOf(ownedBytes(Buffer.from(BLOCK_SET))),
      etag: `"${createHash('sha256').update(BLOCK_SET).digest('base64url').slice(0, 22)}"`,
      head: {
        status: 200,
        contentType: 'application/json; charset=utf-8',
        apiVersion: '1.2.3',
        answerClass: 'final',
        maxAgeSeconds: 3600,
      },
      askedAt: ASKED_AT,
      freshUntil: ASKED_AT + 300 + 86_400_000,
      staleWhileRevalidate: 600_000,
      staleIfError: 86_400_000,
      memoryTtl: 3_600_000,
      lifetime: 86_400_000,
      completeness: { rank: 3, members: Buffer.alloc(0), tentative: Buffer.alloc(0) },
      regressedSince: undefined,
    });
    chunk.fill(0);
    expect(bodyOf(entry).toString()).toBe(BLOCK_SET);
    expect(bodyOf(entry).buffer.byteLength).toBe(BLOCK_SET.length);
  });

  test("that is a 404 in the indexer's own form becomes an entry of the class absent", () => {
    const body = '{"error":"blocks not found"}';
    const entry = entryOf(SHARDS, { status: 404, body });
    expect(bodyOf(entry).toString()).toBe(body);
    expect(entry.head).toMatchObject({ status: 404, answerClass: 'absent', maxAgeSeconds: 0 });
    expect(entry.freshUntil).toBe(ASKED_AT + 600);
    expect(entry.staleIfError).toBe(0);
  });

  test('has a strong entity tag over its body alone', () => {
    const tag = (body: string, status = 200) => entryOf(PENDING, { body, status, apiVersion: `${status}` }).etag;
    expect(tag('{"traces":[]}')).toMatch(/^"[\w-]{22}"$/);
    expect(tag('{"traces":[]}')).toBe(tag('{"traces":[]}'));
    expect(tag('{"traces":[]}')).not.toBe(tag('{"traces": []}'));
  });

  test.each(['a\r\nSet-Cookie: x=1', 'a\n', 'a\u0000', 'a\u0100', 'a\u007f', 'application/j\u00e9son', ''])(
    'keeps no header that could not be sent to clients: %j',
    (text) => {
      expect(entryOf(SHARDS, { contentType: text, apiVersion: text }).head).toMatchObject({
        contentType: 'application/json',
        apiVersion: undefined,
      });
    },
  );

  test('without a Content-Type becomes JSON, and gets no version that was not sent', () => {
    expect(entryOf(SHARDS, { contentType: undefined, apiVersion: undefined }).head).toMatchObject({
      contentType: 'application/json',
      apiVersion: undefined,
    });
  });
});

describe('a response that is no answer', () => {
  test.each([404, 422, 500, 503])("status %d keeps the indexer's own error body, byte for byte", (status) => {
    const body = ' {"error" : "not\\u0020this"} ';
    // A true 404 is an entry, whose body the tests above look at.
    if (status === 404) expect(bodyOf(entryOf(SHARDS, { status, body })).toString()).toBe(body);
    else expect(failureOf(SHARDS, { status, body }).upstreamBody?.toString()).toBe(body);
  });

  test("every failure keeps the indexer's version where a header can hold it", () => {
    for (const status of [200, 204, 302, 401, 404, 422, 429, 500]) {
      expect(failureOf(SHARDS, { status, body: '{}' }).apiVersion).toBe('1.2.3');
      expect(failureOf(SHARDS, { status, body: '{}', apiVersion: 'a\r\nb' }).apiVersion).toBeUndefined();
    }
  });

  test("a refused key or a rate limit repeats nothing of the indexer's error body", () => {
    const body = '{"error":"the key 1234 is wrong"}';
    for (const status of [401, 403, 429]) {
      const failure = failureOf(SHARDS, { status, body });
      expect(failure.upstreamBody).toBeUndefined();
      expect(failure.message).not.toContain('1234');
    }
  });
});
