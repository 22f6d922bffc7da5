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

/** An error in the indexer's form, of so many bytes. */
function ownError(bytes: number): Buffer {
  return Buffer.from(JSON.stringify({ error: 'x'.repeat(bytes - '{"error":""}'.length) }));
}

/** As older versions share every failure. */
function encodedByOthers({ code, message, details }: ProxyError, more: object = {}): string {
  const { upstreamBody, ...rest } = details;
  return JSON.stringify({ code, message, ...rest, upstreamBody: upstreamBody?.toString('base64'), ...more });
}

/** The failure of an indexer with this status and body. */
function answered(upstreamStatus: number, body?: string): ProxyError {
  const upstreamBody = body === undefined ? undefined : Buffer.from(body);
  return new ProxyError('upstream-error', 'x', { upstreamStatus, upstreamBody });
}

describe('a failure that instances share', () => {
  it.each([
    ['all details', new ProxyError('upstream-error', 'the indexer answered with status 503', DETAILS)],
    ['a 4xx', answered(422, '{"error":"x"}')],
    ['no details', new ProxyError('upstream-too-large', 'the answer of the indexer is too large')],
  ])('arrives as it was sent, with %s', (_, error) => {
    expect(decodeFailure(String(encodeFailure(error, UNTIL)))).toEqual({ error, until: UNTIL });
  });

  it('of an older version arrives without its end', () => {
    const error = answered(500, '{"error":"x"}');
    expect(decodeFailure(encodedByOthers(error))).toEqual({ error, until: undefined });
  });

  it.each([
    ['no JSON', 'x'],
    ['the token of a lease', crypto.randomUUID()],
    ['no failure', '{"code":1}'],
    ['a failure that no indexer has', '{"code":"internal","message":"x"}'],
    ['an error without a status', '{"code":"upstream-error","message":"x","upstreamBody":"e30="}'],
    ['a status that is none', encodedByOthers(answered(1000, '{"error":"x"}'))],
    ['a status that is no error', encodedByOthers(answered(204, '{"error":"x"}'))],
    ['a version that no header can hold', '{"code":"upstream-too-large","message":"x","apiVersion":"1\\r\\n"}'],
    ['a wait of a day', '{"code":"upstream-too-large","message":"x","retryAfterSeconds":86400}'],
    ['an end that is no number', '{"code":"upstream-too-large","message":"x","until":"soon"}'],
    ['a body that is too long', encodedByOthers(withBody(ownError(LONGEST_ERROR_BYTES + 3)))],
  ])('is not read from %s', (_, text) => {
    expect(decodeFailure(text)).toBeUndefined();
  });
});

describe('a failure that may be that of one instance alone', () => {
  const alone = Object.values(OUTCOMES)
    .filter(({ shared }) => shared === 'no')
    .map(({ client }) => client)
    .filter((client): client is ErrorCode => isErrorCode(client));

  it.each([...new Set(alone), 'shutting-down' as const])('is neither shared nor read: %s', (code) => {
    expectAlone(new ProxyError(code, 'x', { upstreamStatus: 500, upstreamBody: ownError(100) }));
  });

  it.each([
    ['no body', undefined],
    ['HTML', '<h1>502 Bad Gateway</h1>'],
    ['a text', '"error"'],
    ['a list', '[{"error":"x"}]'],
    ['null', 'null'],
    ['no members', '{}'],
    ['another member', '{"message":"x"}'],
    ['members beside the error', '{"error":"x","code":502}'],
    ['an error that is no text', '{"error":{"message":"x"}}'],
    ['an error that is cut', '{"error":"x'],
  ])('is neither shared nor read, of any status: an error with %s', (_, body) => {
    for (const status of [400, 404, 407, 422, 451, 500, 502, 503, 599]) expectAlone(answered(status, body));
  });

  it('is that of an indexer which follows another chain', () => {
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
