import { assert, integer, array as listOf, property } from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { ClientLimits, type ClientLimitsDependencies } from '../../../src/clients/client-limits.ts';

let now: number;
beforeEach(() => {
  now = 1_000_000;
});

const limitsOf = (options: Omit<ClientLimitsDependencies, 'now'>) => new ClientLimits({ now: () => now, ...options });
const rates = { requestsPerSecond: integer({ min: 1, max: 2000 }), burst: integer({ min: 1, max: 50 }) };

describe('the limit of requests', () => {
  test('lets a burst pass, and in any time no more than the burst and what the rate allows', () => {
    assert(
      property(rates.requestsPerSecond, rates.burst, listOf(integer({ min: 0, max: 300 })), (rate, burst, gaps) => {
        const limits = limitsOf({ requestsPerSecond: rate, burst });
        const allowed: number[] = [];
        for (const gap of gaps) {
          now += gap;
          if (limits.takeRequest('a') === undefined) allowed.push(now);
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

  test('never refuses a client that keeps to the rate', () => {
    assert(
      property(rates.requestsPerSecond, listOf(integer({ min: 0, max: 100 })), (rate, later) => {
        const limits = limitsOf({ requestsPerSecond: rate, burst: 1 });
        for (const extra of later) {
          now += 1000 / rate + extra;
          expect(limits.takeRequest('a')).toBeUndefined();
        }
      }),
    );
  });

  test('says when it allows the next one, and allows it then', () => {
    assert(
      property(rates.requestsPerSecond, rates.burst, (rate, burst) => {
        const limits = limitsOf({ requestsPerSecond: rate, burst });
        for (let i = 0; i < burst; i++) expect(limits.takeRequest('a')).toBeUndefined();
        const { code, retryAfterSeconds = 0, rateLimit } = limits.takeRequest('a') ?? {};
        expect(code).toBe('too-many-requests');
        expect(rateLimit).toEqual({
          policy: `"requests";q=${burst};w=${Math.ceil(burst / rate)}`,
          state: `"requests";r=0;t=${retryAfterSeconds}`,
        });
        now += 1000 * retryAfterSeconds;
        expect(limits.takeRequest('a')).toBeUndefined();
      }),
    );
  });

  test('is one for each client', () => {
    const limits = limitsOf({ requestsPerSecond: 1 });
    expect(['a', 'a', 'b', 'b'].map((client) => limits.takeRequest(client)?.code)).toEqual([
      undefined,
      'too-many-requests',
      undefined,
      'too-many-requests',
    ]);
  });
});

test('the limit of misses counts what is not given back, apart from requests', () => {
  const limits = limitsOf({ missesPerSecond: 2 });
  for (let i = 0; i < 10; i++) {
    expect(limits.takeMiss('a')).toBeUndefined();
    limits.giveBackMiss('a');
  }
  const codes = [1, 2, 3].map(() => limits.takeMiss('a')?.code);
  expect(codes).toEqual([undefined, undefined, 'too-many-requests']);
  expect(limits.takeRequest('a')).toBeUndefined();
});

test('without limits nothing is refused', () => {
  const limits = limitsOf({});
  for (let i = 0; i < 1000; i++)
    expect([limits.takeRequest('a'), limits.takeMiss('a')]).toEqual([undefined, undefined]);
});
