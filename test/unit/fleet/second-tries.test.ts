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

/** One indexer, or two, with all blocks. `budget`: the number of retries that can be paid for. */
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
  test('a request whose connection broke is sent once more, if the budget pays for it', () => {
    expect(open({ count: 1 }).laneAfter(failure('upstream-reset'))).toEqual(again(LANE));
    expect(open({ count: 1, budget: 0 }).laneAfter(failure('upstream-reset'))).toBe(undefined);
  });

  test.each([failure('upstream-timeout'), failure('upstream-error'), { ...ABSENT }, { ...ANSWER, isRegressed: true }])(
    'no second try follows any other result (%#)',
    (first) => {
      expect(open({ count: 1 }).laneAfter(first)).toBe(undefined);
    },
  );
});

describe('with several indexers', () => {
  test('a failed request is sent to another indexer, and uses no budget while that one is healthy', () => {
    const { laneAfter, paid } = open({ budget: 0 });
    expect(laneAfter(failure('upstream-timeout'))).toEqual(again(LANE, FIRST));
    expect(paid.left).toBe(0);
  });

  test('a second try uses the budget if no other indexer is healthy', () => {
    expect(open({ isOtherFailing: true, budget: 1 }).laneAfter(failure('upstream-timeout'))).toEqual(
      again(LANE, FIRST),
    );
    expect(open({ isOtherFailing: true, budget: 0 }).laneAfter(failure('upstream-timeout'))).toBe(undefined);
  });

  test('a refusal by this process leads to no second try', () => {
    expect(open().laneAfter(failure('shutting-down'))).toBe(undefined);
  });

  test('a doubtful answer is checked immediately, at an indexer that has the block', () => {
    expect(open().laneAfter(ABSENT)?.to).toEqual({ seqno: 7, not: FIRST, isHedge: true });
  });

  test('a doubtful answer that is not about a block is checked at the indexer with the newest block', () => {
    expect(open().laneAfter(ABSENT, firstTry())?.to).toEqual({ seqno: 9, not: FIRST, isHedge: true });
  });

  test('an answer of nothing is not checked if an older answer is known, unless it has regressed', () => {
    expect(open().laneAfter(ABSENT, LANE, true)).toBe(undefined);
    expect(open().laneAfter({ ...ABSENT, isRegressed: true }, LANE, true)?.to.not).toBe(FIRST);
  });

  test('after a regressed answer, another indexer also gets the request', () => {
    expect(open().laneAfter({ ...ANSWER, isRegressed: true })).toEqual(besides(LANE, FIRST));
  });

  test('an answer that is neither doubtful nor regressed leads to no second try', () => {
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

  test('if it found nothing about a block, or failed, and the other one has an answer', () => {
    expect(refutedBy(ABSENT, ANSWER, [LANE, HEDGE])).toEqual([[7, FIRST]]);
    expect(refutedBy(failure('upstream-error'), ANSWER, [LANE, HEDGE])).toEqual([[7, FIRST]]);
  });

  test.each<[string, TriedAnswer, TriedAnswer, [Lane, Lane]]>([
    ['it answered', ANSWER, ANSWER, [LANE, HEDGE]],
    ['the other one found nothing either', ABSENT, ABSENT, [LANE, HEDGE]],
    ['the second try was not a hedge', ABSENT, ANSWER, [LANE, again(LANE, FIRST)]],
    [
      'the request was not about a block, although the other one was chosen by its head',
      ABSENT,
      ANSWER,
      [firstTry(), HEDGE],
    ],
  ])('not if %s', (_, first, second, lanes) => {
    expect(refutedBy(first, second, lanes)).toEqual([]);
  });
});
