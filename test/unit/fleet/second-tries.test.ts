import { describe, expect, test } from 'vitest';
import type { Lane } from '../../../src/admission/lane.ts';
import { failure } from '../../../src/errors.ts';
import { Doubt } from '../../../src/fleet/doubt.ts';
import { again, besides, firstTry, ofLoad } from '../../../src/fleet/lanes.ts';
import { SecondTries, type TriedAnswer } from '../../../src/fleet/second-tries.ts';

const [FIRST, OTHER] = [0, 1];
const LANE = ofLoad(false, 7);
const ANSWER: TriedAnswer = { isAbsent: false, isDoubtful: false, isRegressed: false };
const ABSENT: TriedAnswer = { isAbsent: true, isDoubtful: true, isRegressed: false };

/** Two indexers that have all blocks, or one. Each pays for a retry while it has budget. */
function open({ count = 2, budget = 1, isOtherFailing = false } = {}) {
  const refuted: [number, number][] = [];
  const indexers = Array.from({ length: count }, (_, index) => ({
    head: { newestBlock: 9, hasBlock: () => true, refute: (seqno: number) => void refuted.push([seqno, index]) },
    route: { isBackup: false, health: { isFailing: index === OTHER && isOtherFailing } },
  }));
  const doubt = new Doubt({ indexers, heads: count > 1 ? { lag: () => 0 } : undefined });
  const paid = { left: budget };
  const tries = new SecondTries({ indexers, doubt, retries: { tryTake: () => paid.left-- > 0 } });
  const laneAfter = (first: Parameters<SecondTries['laneAfter']>[0], lane = LANE, isKnown = false) =>
    tries.laneAfter(first, lane, FIRST, isKnown);
  return { tries, laneAfter, refuted, paid };
}

describe('with one indexer', () => {
  test('a connection that broke is tried once more, if the budget pays for it', () => {
    expect(open({ count: 1 }).laneAfter(failure('upstream-reset'))).toEqual(again(LANE));
    expect(open({ count: 1, budget: 0 }).laneAfter(failure('upstream-reset'))).toBe(undefined);
  });

  test.each([failure('upstream-timeout'), failure('upstream-error'), { ...ABSENT }, { ...ANSWER, isRegressed: true }])(
    'there is no second try after anything else (%#)',
    (first) => {
      expect(open({ count: 1 }).laneAfter(first)).toBe(undefined);
    },
  );
});

describe('with several', () => {
  test('a failure is tried at another one, unpaid while that is healthy', () => {
    const { laneAfter, paid } = open({ budget: 0 });
    expect(laneAfter(failure('upstream-timeout'))).toEqual(again(LANE, FIRST));
    expect(paid.left).toBe(0);
  });

  test('a failure is paid for where no other is healthy', () => {
    expect(open({ isOtherFailing: true, budget: 1 }).laneAfter(failure('upstream-timeout'))).toEqual(
      again(LANE, FIRST),
    );
    expect(open({ isOtherFailing: true, budget: 0 }).laneAfter(failure('upstream-timeout'))).toBe(undefined);
  });

  test('a refusal of this process is tried nowhere', () => {
    expect(open().laneAfter(failure('shutting-down'))).toBe(undefined);
  });

  test('a doubtful answer is checked immediately, at one that has the block', () => {
    expect(open().laneAfter(ABSENT)?.to).toEqual({ seqno: 7, not: FIRST, isHedge: true });
  });

  test('a doubtful answer about no block is checked at one that has the newest', () => {
    expect(open().laneAfter(ABSENT, firstTry())?.to).toEqual({ seqno: 9, not: FIRST, isHedge: true });
  });

  test('that there is nothing is not checked where an older answer is known: that one is served', () => {
    expect(open().laneAfter(ABSENT, LANE, true)).toBe(undefined);
    expect(open().laneAfter({ ...ABSENT, isRegressed: true }, LANE, true)?.to.not).toBe(FIRST);
  });

  test('a regressed answer is requested again in addition to it', () => {
    expect(open().laneAfter({ ...ANSWER, isRegressed: true })).toEqual(besides(LANE, FIRST));
  });

  test('an answer is the end', () => {
    expect(open().laneAfter(ANSWER)).toBe(undefined);
  });
});

describe('the first indexer is refuted', () => {
  const refutedBy = (first: Parameters<SecondTries['compare']>[0], second: TriedAnswer, lanes: [Lane, Lane]) => {
    const { tries, refuted } = open();
    tries.compare(first, second, lanes, FIRST);
    return refuted;
  };
  const HEDGE = besides(LANE, FIRST);

  test('where it had nothing of the block that the other one has', () => {
    expect(refutedBy(ABSENT, ANSWER, [LANE, HEDGE])).toEqual([[7, FIRST]]);
    expect(refutedBy(failure('upstream-error'), ANSWER, [LANE, HEDGE])).toEqual([[7, FIRST]]);
  });

  test.each<[string, TriedAnswer, TriedAnswer, [Lane, Lane]]>([
    ['it answered', ANSWER, ANSWER, [LANE, HEDGE]],
    ['the other one has nothing either', ABSENT, ABSENT, [LANE, HEDGE]],
    ['the second try was no hedge', ABSENT, ANSWER, [LANE, again(LANE, FIRST)]],
    [
      'the request was about no block, though the other one was asked because of its head',
      ABSENT,
      ANSWER,
      [firstTry(), HEDGE],
    ],
  ])('not where %s', (_, first, second, lanes) => {
    expect(refutedBy(first, second, lanes)).toEqual([]);
  });
});
