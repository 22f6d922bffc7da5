import { describe, expect, it } from 'vitest';
import { decodeFailure, encodeFailure } from '../../../src/answer/shared-failure.ts';
import { LONGEST_ERROR_BYTES, ProxyError } from '../../../src/errors.ts';

const DETAILS = {
  upstreamStatus: 503,
  apiVersion: '1.2.6',
  retryAfterSeconds: 7,
  upstreamBody: Buffer.alloc(LONGEST_ERROR_BYTES, '{"error":"überlastet"}'),
};

describe('a failure that instances share', () => {
  it.each([
    ['all details', new ProxyError('upstream-error', 'the indexer answered with status 503', DETAILS)],
    ['the status of what is not served', new ProxyError('not-served', 'x', { upstreamStatus: 501 })],
    ['no details', new ProxyError('upstream-timeout', 'the indexer did not answer in time')],
  ])('arrives as it was sent, with %s', (_, failure) => {
    expect(decodeFailure(encodeFailure(failure))).toEqual(failure);
  });

  it.each([
    ['no JSON', 'x'],
    ['no failure', '{"code":1}'],
    ['a failure that no indexer has', '{"code":"internal","message":"x"}'],
    ['what this process does not serve', '{"code":"not-served","message":"x"}'],
    ['a status that is none', '{"code":"upstream-error","message":"x","upstreamStatus":1000}'],
    ['a status that is no error', '{"code":"upstream-error","message":"x","upstreamStatus":204}'],
    ['a version that no header can hold', '{"code":"upstream-timeout","message":"x","apiVersion":"1\\r\\n"}'],
    ['a wait of a day', '{"code":"upstream-timeout","message":"x","retryAfterSeconds":86400}'],
    ['a body that is too long', withBody(Buffer.alloc(LONGEST_ERROR_BYTES + 3))],
  ])('is not read from %s', (_, text) => {
    expect(decodeFailure(text)).toBeUndefined();
  });
});

function withBody(upstreamBody: Buffer): string {
  return encodeFailure(new ProxyError('upstream-error', 'x', { ...DETAILS, upstreamBody }));
}
