import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cases } from '../support/property-runs.ts';
import { type FailoverCourse, outdatedByFailover } from './failover.ts';

const RUNS = cases(30);

const touched = fc
  .integer({ min: 20, max: 200 })
  .chain((every) => fc.record({ every: fc.constant(every), rest: fc.integer({ min: 0, max: every - 1 }) }));

const courses: fc.Arbitrary<FailoverCourse> = fc.record({
  lostBlocks: fc.constantFrom(8, 20, 60, 90, 99),
  silentMs: fc.constantFrom(0, 8000, 20_000, 46_000, 55_000),
  olderMs: fc.constantFrom(400, 3000, 8000, 15_000),
  touchedBy: fc.array(touched, { minLength: 30, maxLength: 30 }),
});

test('no answer that blocks prove lacks a commit after a failover to an older standby', async () => {
  let proven = 0;
  await fc.assert(
    fc.asyncProperty(courses, async (course) => {
      const judged = await outdatedByFailover(course);
      proven += judged.proven;
      expect(judged.outdated).toEqual([]);
    }),
    RUNS,
  );
  // Otherwise the property would show nothing.
  expect(proven).toBeGreaterThan(RUNS.numRuns * 1000);
});
