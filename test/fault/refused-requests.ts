import { expect } from 'vitest';
import type { World } from '../e2e/world.ts';
import type { Answered } from '../support/http-client.ts';

export const NEVER = { env: { UPSTREAM_TIMEOUT: '60s' } };

/** Expects that the request was refused, with a `Retry-After` of these seconds; with 429 if a rate is used up. */
export function expectRefused({ status, text, headers }: Answered, retryAfter = /^[1-9][0-9]*$/, as = 503): void {
  expect([status, text]).toEqual([as, expect.stringMatching(/^\{"error":".+"\}$/)]);
  expect(headers['retry-after']).toMatch(retryAfter);
  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' });
}

/** The number of requests that were refused for a reason. */
export function refusedOf({ proxy }: World, reason: string): Promise<number> {
  return proxy.metric('loadsRefused', { reason });
}

export const times = (lifetime: number, staleWhileRevalidate: number, staleIfError: number) => ({
  lifetime,
  staleWhileRevalidate,
  staleIfError,
});
