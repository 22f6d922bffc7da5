import { expect } from 'vitest';
import type { Answered } from '../support/http-client.ts';

export const NEVER = { env: { UPSTREAM_TIMEOUT: '60s' } };

export function expectShed({ status, text, headers }: Answered): void {
  expect([status, text]).toEqual([503, expect.stringMatching(/^\{"error":".+"\}$/)]);
  expect(headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' });
}

export const times = (lifetime: number, staleWhileRevalidate: number, staleIfError: number) => ({
  lifetime,
  memoryTtl: lifetime,
  staleWhileRevalidate,
  staleIfError,
});
