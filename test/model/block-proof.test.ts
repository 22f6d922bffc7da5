import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cases, UNTIL_FOUND } from '../support/property-runs.ts';
import { outdatedAnswers, type Rule, schedules } from './proven-accounts.ts';

const RUNS = cases(300);

/** Each rule of the proof, and the schedules that need it. */
const RULES: readonly Rule[] = [
  'a body shows each transaction, by hash',
  'transactions seen since the request count',
  'transactions seen before the request count',
  'an answer is proven only as far back as transactions are kept',
  'a gap holds back the mark',
  'a block counts as read when it is whole',
  'the mark is the time of a request',
  'the blocks of the last 10 s are read first',
];

describe('answers that blocks prove', () => {
  test('lack no commit that was older than a second plus the replica lag when they were served', () => {
    let proven = 0;
    fc.assert(
      fc.property(schedules, (schedule) => {
        const judged = outdatedAnswers(schedule);
        proven += judged.proven;
        expect(judged.outdated).toEqual([]);
      }),
      RUNS,
    );
    // Otherwise the property would show nothing.
    expect(proven).toBeGreaterThan(RUNS.numRuns * 10);
  });

  test.each(RULES)('need the rule: %s', (rule) => {
    const { failed } = fc.check(
      fc.property(schedules, (schedule) => outdatedAnswers(schedule, rule).outdated.length === 0),
      UNTIL_FOUND,
    );
    expect(failed).toBe(true);
  });
});
