import { assert, integer, array as listOf, property } from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { PerClientLimit } from '../../../src/clients/per-client-limit.ts';

let now: number;
beforeEach(() => {
  now = 1_000_000;
});

const limitOf = (perSecond: number) => new PerClientLimit({ name: 'requests', now: () => now, perSecond });
const rates = integer({ min: 1, max: 200 });

describe('a limit for each client', () => {
  test('allows the requests of ten seconds at once, and in any period at most these and the rate', () => {
    assert(
      property(rates, listOf(integer({ min: 0, max: 300 })), (rate, gaps) => {
        const limit = limitOf(rate);
        const burst = 10 * rate;
        const allowed: number[] = [];
        for (const gap of gaps) {
          now += gap;
          if (limit.take('a') === undefined) allowed.push(now);
        }
        for (const [first, from] of allowed.entries()) {
          for (const [last, to] of allowed.entries()) {
            if (last < first) continue;
            expect(last - first + 1).toBeLessThanOrEqual(burst + ((to - from) * rate) / 1000 + 1e-6);
          }
        }
        expect(allowed.length).toBeGreaterThanOrEqual(Math.min(gaps.length, burst));
      }),
    );
  });

  test('never refuses a client that keeps to the rate, even after a burst', () => {
    assert(
      property(rates, listOf(integer({ min: 0, max: 100 })), (rate, later) => {
        const limit = limitOf(rate);
        for (let i = 0; i < 10 * rate; i++) limit.take('a');
        for (const extra of later) {
          now += 1000 / rate + extra;
          expect(limit.take('a')).toBeUndefined();
        }
      }),
    );
  });

  test('returns the time after which the next request is allowed, and allows it then', () => {
    assert(
      property(rates, (rate) => {
        const limit = limitOf(rate);
        for (let i = 0; i < 10 * rate; i++) expect(limit.take('a')).toBeUndefined();
        const refused = limit.take('a');
        const { retryAfterSeconds = 0, rateLimit } = refused?.details ?? {};
        expect(refused?.code).toBe('too-many-requests');
        expect(rateLimit).toEqual({
          policy: `"requests";q=${10 * rate};w=10`,
          state: `"requests";r=0;t=${retryAfterSeconds}`,
        });
        now += 1000 * retryAfterSeconds;
        expect(limit.take('a')).toBeUndefined();
      }),
    );
  });

  test('counts each client separately', () => {
    const limit = limitOf(1);
    for (const client of ['a', 'b']) {
      for (let i = 0; i < 10; i++) expect(limit.take(client)).toBeUndefined();
      expect(limit.take(client)?.code).toBe('too-many-requests');
    }
  });
});

test('a limit does not count requests that were given back', () => {
  const limit = limitOf(1);
  for (let i = 0; i < 100; i++) {
    expect(limit.take('a')).toBeUndefined();
    limit.giveBack('a');
  }
  for (let i = 0; i < 10; i++) expect(limit.take('a')).toBeUndefined();
  expect(limit.take('a')?.code).toBe('too-many-requests');
});
