import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { RETRIES, RetryBudget } from '../../../src/fleet/retry-budget.ts';

let now = 0;
let budget: RetryBudget;

beforeEach(() => {
  now = 0;
  budget = new RetryBudget({ now: () => now }, RETRIES);
});

function count(calls: number): void {
  for (let call = 0; call < calls; call++) budget.countCall();
}

test('retries in any period are at most a tenth of its calls, ten saved ones, and one a second', () => {
  const step = fc.record({ waitMs: fc.nat(400), calls: fc.nat(30), tries: fc.nat(10) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      now = 0;
      budget = new RetryBudget({ now: () => now }, RETRIES);
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
