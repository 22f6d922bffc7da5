import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SEEN_BEFORE_MS } from '../../src/chain/proofs.ts';
import { cases } from '../support/property-runs.ts';
import { BLOCK_MS, type FailoverCourse, outdatedByFailover } from './failover.ts';

const RUNS = cases(30);

const touched = fc
  .integer({ min: 20, max: 200 })
  .chain((every) => fc.record({ every: fc.constant(every), rest: fc.integer({ min: 0, max: every - 1 }) }));

/** From the first lost commit until everything is back at most 62 s pass: a seen transaction counts for this long. */
const courses: fc.Arbitrary<FailoverCourse> = fc
  .record({
    lostBlocks: fc.constantFrom(8, 20, 60, 90, 99),
    silentMs: fc.constantFrom(0, 8000, 20_000, 46_000, 55_000),
    olderMs: fc.constantFrom(3000, 8000, 15_000),
    touchedBy: fc.array(touched, { minLength: 30, maxLength: 30 }),
  })
  .filter(({ lostBlocks, silentMs, olderMs }) => lostBlocks * BLOCK_MS + silentMs + olderMs <= SEEN_BEFORE_MS);

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

test('some would, if the transactions that were seen before a request did not count', async () => {
  const { failed } = await fc.check(
    fc.asyncProperty(courses, async (course) => (await outdatedByFailover(course, true)).outdated.length === 0),
    { numRuns: 300, endOnFailure: true },
  );
  expect(failed).toBe(true);
});
