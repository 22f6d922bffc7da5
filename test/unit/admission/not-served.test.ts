import { beforeEach, expect, test } from 'vitest';
import { type EndPass, type Guard, passBy } from '../../../src/admission/guard.ts';
import { notServedGuard } from '../../../src/admission/not-served.ts';
import type { Outcome } from '../../../src/outcomes.ts';

let now: number;
let guard: Guard;
let served: boolean[];

beforeEach(() => {
  now = 0;
  served = [];
  guard = notServedGuard({ now: () => now, onTransition: (isServed) => served.push(isServed) });
});

function admitted(): EndPass {
  const end = passBy(guard, '');
  if (end === undefined) throw new Error('it may not be sent');
  return end;
}

test('an operation that an indexer does not serve is tried again every 30 s, with one request', () => {
  admitted()('not-served');
  for (let trial = 1; trial <= 3; trial++) {
    now += 29_999;
    expect([passBy(guard, ''), guard.reason, guard.breaker.retryAfterMs]).toEqual([undefined, 'not-served', 1]);
    now += 1;
    const end = admitted();
    expect(passBy(guard, '')).toBeUndefined();
    end('not-served');
  }
  expect(served).toEqual([false]);
});

test.each<[Outcome, boolean]>([
  ['answered', true],
  ['absent', true],
  ['client-error', true],
  ['failed', false],
  ['rate-limited', false],
  ['unreachable', false],
  ['unknown', false],
])('after a trial that ends with %s the operation counts as served: %s', (outcome, isServed) => {
  admitted()('not-served');
  now += 30_000;
  admitted()(outcome);
  expect(served).toEqual(isServed ? [false, true] : [false]);
  // Admitted in both cases: like any request if the operation is served, otherwise as the next trial.
  admitted();
});
