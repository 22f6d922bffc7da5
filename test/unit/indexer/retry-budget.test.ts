import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RETRIES, RetryBudget } from '../../../src/indexer/retry-budget.ts';

test('ten retries are saved at the start, and in any period there are at most those and a tenth of its requests', () => {
  const step = fc.record({ calls: fc.nat(30), tries: fc.nat(20) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new RetryBudget(RETRIES);
      const history = steps.map(({ calls, tries }) => {
        for (let call = 0; call < calls; call++) budget.countCall();
        return { calls, tries, taken: Array.from({ length: tries }, () => budget.tryTake()).filter(Boolean).length };
      });
      expect(history[0]?.taken).toBe(history[0] && Math.min(history[0].tries, 10));
      for (const index of history.keys()) {
        let [calls, taken] = [0, 0];
        for (const later of history.slice(index)) {
          calls += later.calls;
          taken += later.taken;
          expect(taken).toBeLessThanOrEqual(10 + calls / 10 + 1e-9);
        }
      }
    }),
  );
});
