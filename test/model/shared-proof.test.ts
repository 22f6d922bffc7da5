import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cases, UNTIL_FOUND } from '../support/property-runs.ts';
import { type SharedRule, sharedOutdated, sharedSchedules } from './shared-proof.ts';

const RUNS = cases(30);

/** Each rule of the shared proof, and the schedules that need it. */
const RULES: readonly SharedRule[] = [
  'an entry is judged by the transactions in its body',
  'transactions are kept for as long as answers may be proven',
  'the mark of a head is not later than its first sight',
  'heads come from the same indexers',
  'bans come before the judgement',
  'a start reads the blocks of the time before',
];

describe('answers that instances share through Redis, and blocks prove', () => {
  test('lack no commit that was older than a second plus the replica lag, and are not purged', async () => {
    let [proven, taken] = [0, 0];
    await fc.assert(
      fc.asyncProperty(sharedSchedules, async (schedule) => {
        const judged = await sharedOutdated(schedule);
        proven += judged.proven;
        taken += judged.taken;
        expect(judged.outdated).toEqual([]);
      }),
      RUNS,
    );
    // Otherwise the property would show nothing. Six schedules take 57 heads on average, and 33 to 88 in 25 runs.
    expect(proven).toBeGreaterThan(RUNS.numRuns * 10);
    expect(taken).toBeGreaterThan(RUNS.numRuns);
  });

  test.each(RULES)('need the rule: %s', async (rule) => {
    const { failed } = await fc.check(
      fc.asyncProperty(sharedSchedules, async (schedule) => {
        return (await sharedOutdated(schedule, rule)).outdated.length === 0;
      }),
      UNTIL_FOUND,
    );
    expect(failed).toBe(true);
  });
});
