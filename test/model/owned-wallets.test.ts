import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cases } from '../support/property-runs.ts';
import { type OwnerRule, outdatedAboutOwners, ownerSchedules } from './owned-wallets.ts';

const RUNS = cases(60);

/** Each rule of the look-ups of owners, and the schedules that need it. */
const RULES: readonly OwnerRule[] = [
  'owners are looked up',
  'any account can become a jetton wallet',
  'a look-up shows that it comes from a database with the block',
  'a later transaction does not show that a database has a block',
  'a new wallet touches the list of its owner',
  'a wallet touches the lists in which it stands',
  'the page comes before the look-up',
  'only the two words are directions',
  'a full page can lack a wallet',
];

describe('answers about owners that blocks and look-ups prove', () => {
  test('lack no commit that was older than a second plus the replica lag when they were served', async () => {
    let proven = 0;
    await fc.assert(
      fc.asyncProperty(ownerSchedules, async (schedule) => {
        const judged = await outdatedAboutOwners(schedule);
        proven += judged.proven;
        expect(judged.outdated).toEqual([]);
      }),
      RUNS,
    );
    // Otherwise the property would show nothing.
    expect(proven).toBeGreaterThan(RUNS.numRuns * 10);
  });

  test.each(RULES)('need the rule: %s', async (rule) => {
    const property = fc.asyncProperty(ownerSchedules, async (schedule) => {
      return (await outdatedAboutOwners(schedule, rule)).outdated.length === 0;
    });
    const { failed } = await fc.check(property, { numRuns: 1000, endOnFailure: true });
    expect(failed).toBe(true);
  });
});
