import { describe, expect, it } from 'vitest';
import { decodeFailure, encodeFailure } from '../../../src/answer/shared-failure.ts';
import { type ErrorCode, isErrorCode, LONGEST_ERROR_BYTES, ProxyError } from '../../../src/errors.ts';
import { OUTCOMES } from '../../../src/outcomes.ts';

const UNTIL = 1_800_000_000_000.25;

const DETAILS = {
  upstreamStatus: 503,
  apiVersion: '1.2.6',
  retryAfterSeconds: 7,
  upstreamBody: ownError(LONGEST_ERROR_BYTES),
};

/** An error in the indexer's form, of this length in bytes. */
function ownError(bytes: number): Buffer {
  return Buffer.from(JSON.stringify({ error: 'x'.repeat(bytes - '{"error":""}'.length) }));
}

/** Encodes a failure as older versions do, which share every failure. */
function encodedByOthers({ code, message, details }: ProxyError, more: object = {}): string {
  const { upstreamBody, ...rest } = details;
  return JSON.stringify({ code, message, ...rest, upstreamBody: upstreamBody?.toString('base64'), ...more });
}

/** The failure after an answer of the indexer with this status and body. */
function answered(upstreamStatus: number, body?: string): ProxyError {
  const upstreamBody = body === undefined ? undefined : Buffer.from(body);
  return new ProxyError('upstream-error', 'x', { upstreamStatus, upstreamBody });
}

describe('a shared failure', () => {
  it.each([
    ['all details', new ProxyError('upstream-error', 'the indexer answered with status 503', DETAILS)],
    ['a 4xx', answered(422, '{"error":"x"}')],
    ['no details', new ProxyError('upstream-too-large', 'the answer of the indexer is too large')],
  ])('is decoded as it was encoded, with %s', (_, error) => {
    expect(decodeFailure(String(encodeFailure(error, UNTIL)))).toEqual({ error, until: UNTIL });
  });

  it('from an older version is decoded without its end', () => {
    const error = answered(500, '{"error":"x"}');
    expect(decodeFailure(encodedByOthers(error))).toEqual({ error, until: undefined });
  });

  it.each([
    ['text that is not JSON', 'x'],
    ['the token of a lease', crypto.randomUUID()],
    ['an object that is not a failure', '{"code":1}'],
    ['a failure that no indexer causes', '{"code":"internal","message":"x"}'],
    ['an error without a status', '{"code":"upstream-error","message":"x","upstreamBody":"e30="}'],
    ['a status of 1000', encodedByOthers(answered(1000, '{"error":"x"}'))],
    ['a status of 204', encodedByOthers(answered(204, '{"error":"x"}'))],
    ['a version that no header can hold', '{"code":"upstream-too-large","message":"x","apiVersion":"1\\r\\n"}'],
    ['a Retry-After of a day', '{"code":"upstream-too-large","message":"x","retryAfterSeconds":86400}'],
    ['an end that is not a number', '{"code":"upstream-too-large","message":"x","until":"soon"}'],
    ['a body that is too long', encodedByOthers(withBody(ownError(LONGEST_ERROR_BYTES + 3)))],
  ])('is not decoded from %s', (_, text) => {
    expect(decodeFailure(text)).toBeUndefined();
  });
});

describe('a failure that may concern only one instance', () => {
  const alone = Object.values(OUTCOMES)
    .filter(({ shared }) => shared === 'no')
    .map(({ client }) => client)
    .filter((client): client is ErrorCode => isErrorCode(client));

  it.each([...new Set(alone), 'shutting-down' as const])('is neither shared nor decoded: %s', (code) => {
    expectAlone(new ProxyError(code, 'x', { upstreamStatus: 500, upstreamBody: ownError(100) }));
  });

  it.each([
    ['no body', undefined],
    ['HTML', '<h1>502 Bad Gateway</h1>'],
    ['a JSON string', '"error"'],
    ['a JSON array', '[{"error":"x"}]'],
    ['null', 'null'],
    ['an empty object', '{}'],
    ['another member', '{"message":"x"}'],
    ['members in addition to the error', '{"error":"x","code":502}'],
    ['an error member that is not a string', '{"error":{"message":"x"}}'],
    ['truncated JSON', '{"error":"x'],
  ])('is neither shared nor decoded, whatever its status: an error with %s', (_, body) => {
    for (const status of [400, 404, 407, 422, 451, 500, 502, 503, 599]) expectAlone(answered(status, body));
  });

  it('is not shared if its indexer follows another chain', () => {
    for (const code of ['upstream-error', 'upstream-too-large'] as const)
      expect(encodeFailure(new ProxyError(code, 'x', { ...DETAILS, isOfOtherChain: true }), UNTIL)).toBeUndefined();
  });
});

function expectAlone(error: ProxyError): void {
  expect(encodeFailure(error, UNTIL)).toBeUndefined();
  expect(decodeFailure(encodedByOthers(error, { until: UNTIL }))).toBeUndefined();
}

function withBody(upstreamBody: Buffer): ProxyError {
  return new ProxyError('upstream-error', 'x', { ...DETAILS, upstreamBody });
}
