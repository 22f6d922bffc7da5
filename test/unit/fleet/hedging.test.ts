import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Hedging } from '../../../src/fleet/hedging.ts';
import { HEDGES, RetryBudget } from '../../../src/fleet/retry-budget.ts';

let hedging: Hedging;

beforeEach(() => {
  vi.useFakeTimers();
  const budget = new RetryBudget({ now: () => performance.now() }, HEDGES);
  hedging = new Hedging(budget, 500);
});

afterEach(() => {
  vi.useRealTimers();
});

/** The milliseconds after which a request that never ends is hedged. */
async function hedgedAfter(operation: string): Promise<number> {
  const beganAt = performance.now();
  const isOverdue = hedging.isOverdue(operation, new Promise(() => {}));
  await vi.runAllTimersAsync();
  expect(await isOverdue).toBe(true);
  return performance.now() - beganAt;
}

function answered(operation: string, times: readonly number[]): void {
  for (const ms of times) hedging.answered(operation, ms);
}

test('a request is overdue when it takes longer than 95 % of the answers of its operation', async () => {
  expect(await hedgedAfter('slow')).toBe(500);
  answered(
    'slow',
    Array.from({ length: 128 }, (_, number) => 100 + number),
  );
  answered(
    'quick',
    Array.from({ length: 128 }, () => 3),
  );
  expect([await hedgedAfter('slow'), await hedgedAfter('quick'), await hedgedAfter('new')]).toEqual([221, 50, 500]);
});

test('a request that ends, successfully or not, is not overdue, and leaves no timer', async () => {
  expect(await hedging.isOverdue('any', Promise.resolve())).toBe(false);
  expect(await hedging.isOverdue('any', Promise.reject(new Error('broken')))).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test('the budget allows twenty hedges at once, then one for every twenty requests', () => {
  const taken = (calls: number) => {
    for (let call = 0; call < calls; call++) hedging.budget.countCall();
    let count = 0;
    while (hedging.budget.tryTake()) count++;
    return count;
  };
  expect(taken(0)).toBe(20);
  expect(taken(200)).toBe(10);
  vi.advanceTimersByTime(60_000);
  expect(taken(0)).toBe(0);
});
