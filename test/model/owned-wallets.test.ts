import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cases, UNTIL_FOUND } from '../support/property-runs.ts';
import {
  type Happening,
  type OwnerRule,
  type OwnerSchedule,
  outdatedAboutOwners,
  ownerSchedules,
  startsBesideLaggingReplica,
} from './owned-wallets.ts';

const RUNS = cases(60);

/** Each rule of the look-ups of owners, and the schedules that need it. */
const RULES: readonly OwnerRule[] = [
  'owners are looked up',
  'any account can become a jetton wallet',
  'a look-up shows that it comes from a database with the block',
  'a later transaction does not show that a database has a block',
  'states show that they come from a database with the block',
  'a new wallet touches the list of its owner',
  'a wallet touches the lists in which it stands',
  'the page comes before the look-up',
  'a page that a provider may have cut is counted',
  'an empty page is a missing block',
  'a transfer to no account touches its sender',
  'only the two words are directions',
  'a full page can lack a wallet',
];

const NONE_LAGS: OwnerSchedule['answers'] = [{ isLagging: false, takesMs: 0 }];

/** What the schedules that need a rule have in common, if they are rare. */
const FOCUS: Partial<Record<OwnerRule, Partial<OwnerSchedule>>> = {
  'a later transaction does not show that a database has a block': {
    hasHotWallet: true,
    lookUpsLag: true,
    lagMs: 500,
  },
};

/**
 * A wallet that sends a transfer in round 120, and is deleted in a given round. Three others run in turns, so that each
 * block has a wallet that runs in no block soon after it.
 */
function lastTransferOf(deletedIn: number, delayMs: number, isSeenBefore: boolean) {
  const happens = (kind: Happening['kind'], account: number, owner: number): Happening => {
    return { kind, account, owner, jetton: 1, balance: 1 };
  };
  const sender = new Map<number, Happening['kind'][]>([
    [0, ['own']],
    [110, isSeenBefore ? ['run'] : []],
    [120, deletedIn === 120 ? ['send', 'delete'] : ['send']],
    [121, deletedIn === 121 ? ['delete'] : []],
  ]);
  const rounds = Array.from({ length: 170 }, (_, round) => round);
  return {
    happenings: rounds.map((round) => [
      ...(sender.get(round) ?? []).map((kind) => happens(kind, 0, kind === 'send' ? 2 : 1)),
      happens(round < 3 ? 'own' : 'run', 3 + (round % 3), 0),
    ]),
    commitDelays: rounds.map((round) => (round === 120 ? delayMs : 0)),
    lagMs: 0,
    answers: NONE_LAGS,
    forgetsDeleted: true,
    hasHotWallet: false,
    cutsPages: false,
    lookUpsLag: false,
    pollsLagMs: 0,
    beginsAtMs: 6000,
  };
}

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

  test('lack no commit although a replica is 28 s behind, from the start on', async () => {
    let proven = 0;
    await fc.assert(
      fc.asyncProperty(startsBesideLaggingReplica, async (schedule) => {
        const judged = await outdatedAboutOwners({ ...schedule, answers: NONE_LAGS, lookUpsLag: false });
        proven += judged.proven;
        expect(judged.outdated).toEqual([]);
      }),
      RUNS,
    );
    expect(proven).toBeGreaterThan(RUNS.numRuns * 10);
  });

  test.each([
    ['in its own block', 120, 0, false],
    ['in the next block, and both are committed at once', 121, 400, false],
    ['in the next block, which is committed before', 121, 500, false],
    ['in the next block, which is committed before, and that look-ups have shown', 121, 500, true],
  ])('show the last transfer of a wallet that is deleted %s', async (_, deletedIn, delayMs, isSeenBefore) => {
    const { outdated, proven } = await outdatedAboutOwners(lastTransferOf(deletedIn, delayMs, isSeenBefore));
    expect(outdated).toEqual([]);
    expect(proven).toBeGreaterThan(50);
  });

  test.each(RULES)('need the rule: %s', async (rule) => {
    const property = fc.asyncProperty(ownerSchedules, async (schedule) => {
      return (await outdatedAboutOwners({ ...schedule, ...FOCUS[rule] }, rule)).outdated.length === 0;
    });
    const { failed } = await fc.check(property, UNTIL_FOUND);
    expect(failed).toBe(true);
  });
});
