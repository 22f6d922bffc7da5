import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { RetryBudget } from '../../../src/upstream/retry-budget.ts';

let now = 0;
let budget: RetryBudget;

beforeEach(() => {
  now = 0;
  budget = new RetryBudget(() => now);
});

function count(calls: number): void {
  for (let call = 0; call < calls; call++) budget.countCall();
}

function takeAll(): number {
  let taken = 0;
  while (budget.tryTake()) taken++;
  return taken;
}

describe('a retry', () => {
  test('is allowed for the first request of all', () => {
    count(1);
    expect(takeAll()).toBe(1);
  });

  test('is allowed once a second, however few the requests', () => {
    expect(takeAll()).toBe(1);
    now = 999;
    expect(takeAll()).toBe(0);
    now = 1000;
    expect(takeAll()).toBe(1);
  });

  test('is allowed for a tenth of the requests when that is more than one a second', () => {
    let taken = 0;
    for (let call = 0; call < 4000; call++) {
      now += 2.5;
      count(1);
      if (budget.tryTake()) taken++;
    }
    expect(taken).toBeGreaterThanOrEqual(390);
    expect(taken).toBeLessThanOrEqual(401);
  });

  test('is allowed for a tenth of the last hundred requests after a long time without retries', () => {
    count(100_000);
    now = 1000;
    // And the one of this second.
    expect(takeAll()).toBeLessThanOrEqual(11);
    now = 1500;
    expect(takeAll()).toBe(0);
  });

  test('that the tenth pays for does not also use the one of its second', () => {
    count(20);
    expect(takeAll()).toBe(2);
    now = 500;
    expect(takeAll()).toBe(0);
  });
});

test('in any period there are at most a tenth of its requests, the saved ten, and one a second', () => {
  const step = fc.record({ waitMs: fc.nat(400), calls: fc.nat(30), tries: fc.nat(10) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      now = 0;
      budget = new RetryBudget(() => now);
      const history = steps.map(({ waitMs, calls, tries }) => {
        now += waitMs;
        count(calls);
        return { at: now, calls, taken: Array.from({ length: tries }, () => budget.tryTake()).filter(Boolean).length };
      });
      for (const [index, { at }] of history.entries()) {
        let [calls, taken] = [0, 0];
        for (const later of history.slice(index)) {
          calls += later.calls;
          taken += later.taken;
          expect(taken).toBeLessThanOrEqual(10 + calls / 10 + 1 + (later.at - at) / 1000 + 1e-9);
        }
      }
    }),
  );
});
