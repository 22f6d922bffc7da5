import { describe, expect, test } from 'vitest';
import { FIRST_TRY, type SendRules } from '../../../src/admission/send-rules.ts';
import { failure } from '../../../src/errors.ts';
import { besides, secondTryWith, type Tried, type TriedAnswer } from '../../../src/fleet/second-try.ts';

const [FIRST, OTHER] = [0, 1];
const REQUEST: SendRules = { ...FIRST_TRY, seqno: 7 };
const ANSWER: TriedAnswer = { isAbsent: false, isDoubtful: false, isRegressed: false };
const ABSENT: TriedAnswer = { isAbsent: true, isDoubtful: true, isRegressed: false };

/** One indexer, or two, with all blocks. `budget`: the number of retries that can be paid for. */
function open({ count = 2, budget = 1, isOtherFailing = false } = {}) {
  const refuted: [number, number][] = [];
  const indexers = Array.from({ length: count }, (_, index) => ({
    head: { newestBlock: 9, hasBlock: () => true, refute: (seqno: number) => void refuted.push([seqno, index]) },
    route: { isBackup: false, health: { isFailing: index === OTHER && isOtherFailing } },
  }));
  const heads = count > 1 ? { lag: () => 0 } : undefined;
  const paid = { left: budget };
  const tries = secondTryWith({ indexers, heads, retries: { tryTake: () => paid.left-- > 0 } });
  const after = (first: Tried, request = REQUEST, isKnown = false) => tries.after(first, request, FIRST, isKnown);
  return { tries, after, refuted, paid };
}

describe('with one indexer', () => {
  test('a request whose connection broke is sent once more, if the budget pays for it', () => {
    expect(open({ count: 1 }).after(failure('upstream-reset'))).toEqual({ ...REQUEST, isSecondTry: true });
    expect(open({ count: 1, budget: 0 }).after(failure('upstream-reset'))).toBe(undefined);
  });

  test.each([failure('upstream-timeout'), failure('upstream-error'), { ...ABSENT }, { ...ANSWER, isRegressed: true }])(
    'no second try follows any other result (%#)',
    (first) => {
      expect(open({ count: 1 }).after(first)).toBe(undefined);
    },
  );
});

describe('with several indexers', () => {
  test('a failed request is sent to another indexer, and uses no budget while that one is healthy', () => {
    const { after, paid } = open({ budget: 0 });
    expect(after(failure('upstream-timeout'))).toEqual({ ...REQUEST, isSecondTry: true, not: FIRST });
    expect(paid.left).toBe(0);
  });

  test('a second try uses the budget if no other indexer is healthy', () => {
    expect(open({ isOtherFailing: true, budget: 1 }).after(failure('upstream-timeout'))).toEqual({
      ...REQUEST,
      isSecondTry: true,
      not: FIRST,
    });
    expect(open({ isOtherFailing: true, budget: 0 }).after(failure('upstream-timeout'))).toBe(undefined);
  });

  test('a refusal by this process leads to no second try', () => {
    expect(open().after(failure('shutting-down'))).toBe(undefined);
  });

  test('a doubtful answer is checked immediately, at an indexer that has the block', () => {
    expect(open().after(ABSENT)).toEqual({ ...REQUEST, waits: false, not: FIRST, isExtra: true });
  });

  test('a doubtful answer that is not about a block is checked at the indexer with the newest block', () => {
    expect(open().after(ABSENT, FIRST_TRY)).toEqual({ ...REQUEST, seqno: 9, waits: false, not: FIRST, isExtra: true });
  });

  test('an answer of nothing is not checked if an older answer is known, unless it has regressed', () => {
    expect(open().after(ABSENT, REQUEST, true)).toBe(undefined);
    expect(open().after({ ...ABSENT, isRegressed: true }, REQUEST, true)?.not).toBe(FIRST);
  });

  test('after a regressed answer, another indexer also gets the request', () => {
    expect(open().after({ ...ANSWER, isRegressed: true })).toEqual(besides(REQUEST, FIRST));
  });

  test('an answer that is neither doubtful nor regressed leads to no second try', () => {
    expect(open().after(ANSWER)).toBe(undefined);
  });
});

describe('the first indexer is refuted', () => {
  const refutedBy = (first: Tried, second: TriedAnswer, [request, next]: [SendRules, SendRules]) => {
    const { tries, refuted } = open();
    tries.compare([first, request], [second, next], FIRST);
    return refuted;
  };
  const HEDGE = besides(REQUEST, FIRST);

  test('if it found nothing about a block, or failed, and the other one has an answer', () => {
    expect(refutedBy(ABSENT, ANSWER, [REQUEST, HEDGE])).toEqual([[7, FIRST]]);
    expect(refutedBy(failure('upstream-error'), ANSWER, [REQUEST, HEDGE])).toEqual([[7, FIRST]]);
  });

  test.each<[string, TriedAnswer, TriedAnswer, [SendRules, SendRules]]>([
    ['it answered', ANSWER, ANSWER, [REQUEST, HEDGE]],
    ['the other one found nothing either', ABSENT, ABSENT, [REQUEST, HEDGE]],
    ['the second try was not a hedge', ABSENT, ANSWER, [REQUEST, { ...REQUEST, isSecondTry: true, not: FIRST }]],
    [
      'the request was not about a block, although the other one was chosen by its head',
      ABSENT,
      ANSWER,
      [FIRST_TRY, HEDGE],
    ],
  ])('not if %s', (_, first, second, requests) => {
    expect(refutedBy(first, second, requests)).toEqual([]);
  });
});
