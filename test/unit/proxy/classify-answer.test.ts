import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { contentOf } from '../../../src/cache/content.ts';
import { ownedBytes } from '../../../src/cache/entry.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import { bodyOf } from '../../support/entry.ts';
import { ASKED_AT, BLOCK_SET, entryOf, failureOf, OUT, PENDING, SHARDS } from './classified.ts';

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

  test('keeps every byte, white space and escapes included', () => {
    const body = ' {"traces" : [] , "x":1.0e2,"\\u0061":"\\/",\r\n"é":"💎"} ';
    expect(bodyOf(entryOf(PENDING, { body }))).toEqual(Buffer.from(body));
  });

  test("that is a 404 in the indexer's own form becomes an entry of the class absent", () => {
    const body = '{"error":"blocks not found"}';
    const entry = entryOf(SHARDS, { status: 404, body });
    expect(bodyOf(entry).toString()).toBe(body);
    expect(entry.head).toMatchObject({ status: 404, answerClass: 'absent', maxAgeSeconds: 0 });
    expect(entry.freshUntil).toBe(ASKED_AT + 600);
    expect(entry.staleIfError).toBe(0);
  });

  test('that grows has its age by the chain time, and at most by our clock', () => {
    const body = `{"transactions":[{"mc_block_seqno":7,"now":${ASKED_AT / 1000 - 100}}]}`;
    const lifetimeAt = (chainAt: number | undefined) => entryOf(OUT, { body, chainAt }).freshUntil - ASKED_AT - 300;
    expect(lifetimeAt(ASKED_AT - 50_000)).toBe(5_000);
    expect(lifetimeAt(ASKED_AT - 200_000)).toBe(1_000);
    expect(lifetimeAt(undefined)).toBe(1_000);
    expect(lifetimeAt(ASKED_AT + 300)).toBe(10_030);
    expect(lifetimeAt(ASKED_AT + 86_400_000)).toBe(10_030);
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
  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['white space', ' \n'],
    ['a page of HTML', '<html>502 Bad Gateway</html>'],
    ['JSON that was cut', BLOCK_SET.slice(0, -1)],
    ['JSON with more behind it', `${BLOCK_SET}{}`],
    ['NaN', '{"blocks":NaN}'],
    ['null', 'null'],
    ['a list', '[]'],
    ['a string', '"{\\"blocks\\":[]}"'],
    ['an object without the list', '{"address_book":{}}'],
    ['the list of another operation', '{"traces":[]}'],
    ['an error with status 200', '{"error":"x"}'],
    ['a rate limit with status 200', '{"ok":false,"result":"Ratelimit exceed","code":429}'],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0x80])],
  ])('%s becomes upstream-invalid with status 200', (_, body) => {
    const failure = failureOf(SHARDS, { body });
    expect(failure).toMatchObject({ code: 'upstream-invalid', upstreamStatus: 200, upstreamBody: undefined });
  });

  test.each<[number, ErrorCode]>([
    [201, 'upstream-invalid'],
    [204, 'upstream-invalid'],
    [206, 'upstream-invalid'],
    [300, 'upstream-redirect'],
    [301, 'upstream-redirect'],
    [302, 'upstream-redirect'],
    [304, 'upstream-redirect'],
    [308, 'upstream-redirect'],
    [401, 'upstream-refused-key'],
    [403, 'upstream-refused-key'],
    [429, 'upstream-rate-limited'],
    [400, 'upstream-error'],
    [410, 'upstream-error'],
    [418, 'upstream-error'],
    [422, 'upstream-error'],
    [500, 'upstream-error'],
    [502, 'upstream-error'],
    [503, 'upstream-error'],
    [599, 'upstream-error'],
  ])('status %d is never cached, even with a good body: %s', (status, code) => {
    expect(failureOf(SHARDS, { status })).toMatchObject({ code, upstreamStatus: status });
    const ofText = failureOf(SHARDS, { status, body: '<html>' });
    expect(ofText).toMatchObject({ code, upstreamStatus: status, upstreamBody: undefined });
  });

  test.each([404, 422, 500, 503])("status %d keeps the indexer's own error body, byte for byte", (status) => {
    const body = ' {"error" : "not\\u0020this"} ';
    // A true 404 is an entry, whose body the tests above look at.
    if (status === 404) expect(bodyOf(entryOf(SHARDS, { status, body })).toString()).toBe(body);
    else expect(failureOf(SHARDS, { status, body }).upstreamBody?.toString()).toBe(body);
  });

  test.each(['{"error":1}', '{"error":null}', '{"detail":"x"}', '{"ok":false,"code":500}', '{}'])(
    'an error body that is another JSON object is passed on as it is: %j',
    (body) => {
      for (const status of [400, 410, 422, 500, 503]) {
        const failure = failureOf(SHARDS, { status, body });
        expect(failure).toMatchObject({ code: 'upstream-error', upstreamStatus: status });
        expect(failure.upstreamBody?.toString()).toBe(body);
      }
    },
  );

  test.each(['["error"]', '"error"', 'null', '7', 'not found', '<html>{"error":"x"}</html>', ''])(
    'an error body that is no JSON object is not passed on: %j',
    (body) => {
      for (const status of [422, 500]) {
        const expected = { code: 'upstream-error', upstreamStatus: status, upstreamBody: undefined };
        expect(failureOf(SHARDS, { status, body })).toMatchObject(expected);
      }
    },
  );

  test.each([
    '{"error":1}',
    '{"error":null}',
    '{"detail":"Not Found"}',
    '{"blocks":[]}',
    '[]',
    '<html>not found</html>',
    '',
  ])("a 404 that is not in the indexer's own form becomes upstream-invalid: %j", (body) => {
    const expected = { code: 'upstream-invalid', upstreamStatus: 404, upstreamBody: undefined };
    for (const call of [SHARDS, OUT, PENDING]) expect(failureOf(call, { status: 404, body })).toMatchObject(expected);
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
