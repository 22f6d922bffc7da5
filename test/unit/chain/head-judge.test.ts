import { describe, expect, test } from 'vitest';
import { HeadJudge, type HeadRefusal } from '../../../src/chain/head-judge.ts';
import type { ChainHead } from '../../../src/ton/chain-point.ts';

const START = 1_800_000_000_000;
const SEQNO = 62_000_000;
const OURS = -239;
const HIGHEST = 2_147_483_647;

/** A judge with a clock of its own. `named` returns its verdicts on heads whose blocks are made now. */
function judging() {
  const clock = { now: START };
  const judge = new HeadJudge({ isOurChain: (globalId) => globalId === OURS, now: () => clock.now });
  const head = (seqno: number, more: Partial<ChainHead> = {}): ChainHead => {
    return { seqno, at: clock.now, first: 0, globalId: OURS, ...more };
  };
  const named = (...seqnos: number[]): (HeadRefusal | 'accepted')[] =>
    seqnos.map((seqno) => judge.refusalOf(head(seqno)) ?? 'accepted');
  return { judge, clock, head, named };
}

describe('a head', () => {
  test.each([
    [0, 1000, 'accepted'],
    [0, 1001, 'jump'],
    [60_000, 1600, 'accepted'],
    [60_000, 1601, 'jump'],
    [0, -5000, 'accepted'],
    [0, HIGHEST - SEQNO, 'jump'],
  ])('%i ms after another one and %i blocks above it: %s', (ms, blocks, expected) => {
    const { clock, named } = judging();
    named(SEQNO);
    clock.now += ms;
    expect(named(SEQNO + blocks)).toEqual([expected]);
  });

  test('of an indexer that catches up is accepted: the times of its blocks allow for their number', () => {
    const { judge, clock, head } = judging();
    for (let hour = 0; hour < 24; hour++) {
      const at = START - (24 - hour) * 3_600_000;
      expect(judge.refusalOf(head(SEQNO + hour * 9000, { at }))).toBeUndefined();
      clock.now += 1000;
    }
  });

  test('whose time is ahead of our clock is not allowed more blocks for that', () => {
    const { judge, head, named } = judging();
    named(SEQNO);
    expect(judge.refusalOf(head(9e8, { at: START + 365 * 86_400_000 * 10 }))).toBe('jump');
  });

  test('without a time is judged by our clock alone', () => {
    const { judge, clock, head } = judging();
    judge.refusalOf(head(SEQNO, { at: 0 }));
    clock.now += 1000;
    expect(judge.refusalOf(head(SEQNO + 1010, { at: 0 }))).toBeUndefined();
    expect(judge.refusalOf(head(9e8))).toBe('jump');
  });

  test('that names no block is neither refused nor remembered', () => {
    const { judge, named } = judging();
    expect(named(-1, SEQNO, -1, SEQNO + 1001)).toEqual(['accepted', 'accepted', 'accepted', 'jump']);
    expect(judge.seqno).toBe(SEQNO);
  });

  test('of another chain is refused each time, and later heads are not judged by it', () => {
    const { judge, head, named } = judging();
    for (let time = 0; time < 10; time++) expect(judge.refusalOf(head(SEQNO, { globalId: -3 }))).toBe('other-chain');
    expect(judge.seqno).toBe(-1);
    expect(named(5, SEQNO)).toEqual(['accepted', 'jump']);
  });
});

describe('a jump', () => {
  test('is accepted at the third answer in a row: the head before it was too low', () => {
    const { named } = judging();
    expect(named(5, SEQNO, SEQNO + 1, SEQNO + 2, SEQNO + 3)).toEqual([
      'accepted',
      'jump',
      'jump',
      'accepted',
      'accepted',
    ]);
  });

  test('is not accepted if another answer comes in between', () => {
    const { named } = judging();
    named(SEQNO);
    expect(named(9e8, 9e8, SEQNO + 1, 9e8, 9e8, SEQNO + 2)).toEqual([
      'jump',
      'jump',
      'accepted',
      'jump',
      'jump',
      'accepted',
    ]);
  });

  test('is not accepted if each answer names another head', () => {
    const { named } = judging();
    named(SEQNO);
    expect(named(9e8, 8e8, 7e8, 9e8, 2e9, HIGHEST)).toEqual(Array(6).fill('jump'));
  });

  test('is not needed after a first head that was far too high: the true one is lower, and is accepted', () => {
    const { named } = judging();
    expect(named(HIGHEST, SEQNO, 9e8)).toEqual(['accepted', 'accepted', 'jump']);
  });
});

test('after a jump of the clock, heads are judged by the times of their blocks', () => {
  const { judge, clock, head, named } = judging();
  named(SEQNO);
  clock.now += 2 * 3_600_000;
  judge.forgetTimes();
  expect(named(9e8, SEQNO + 18_000)).toEqual(['jump', 'accepted']);
  // The clock is set back by an hour, so that the next block is an hour ahead of it.
  clock.now -= 3_600_000;
  judge.forgetTimes();
  expect(judge.refusalOf(head(SEQNO + 18_001, { at: clock.now + 3_600_000 }))).toBeUndefined();
  expect(named(9e8)).toEqual(['jump']);
});
