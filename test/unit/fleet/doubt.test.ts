import { expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import { Doubt } from '../../../src/fleet/doubt.ts';
import { aboutBlock, besides, firstTry } from '../../../src/fleet/lanes.ts';
import type { Finality } from '../../../src/ton/finality.ts';

const NOT_FOUND: Finality = { answerClass: 'absent', rule: 'notFound' };
const EMPTY: Finality = { answerClass: 'absent', rule: 'empty' };
const EMPTY_PAGE: Finality = { answerClass: 'absent', rule: 'emptyOfBlock' };
const SETTLED: Finality = { answerClass: 'live', rule: 'pendingFinalized' };
const UNDER_WAY: Finality = { answerClass: 'live', rule: 'pendingLive' };
const GROWING: Finality = { answerClass: 'growing', rule: 'adjacentGrowing' };
const BLOCK: Finality = { answerClass: 'final', rule: 'shardsFinal' };

/** Replicas by the blocks that they have, and how far the first one is behind; then a backup that has all. */
function doubtAmong(replicas: readonly (readonly [first: number, last: number])[], lagOfFirst = 0) {
  const refuted: [index: number, seqno: number][] = [];
  const indexers = [...replicas, [0, 1e9] as const].map(([first, last], index) => ({
    route: { isBackup: index === replicas.length },
    head: {
      newestBlock: last,
      hasBlock: (seqno: number) => first <= seqno && seqno <= last,
      refute: (seqno: number) => void refuted.push([index, seqno]),
    },
  }));
  const heads = replicas.length > 1 ? { lag: (index: number) => (index === 0 ? lagOfFirst : 0) } : undefined;
  return { doubt: new Doubt({ indexers, heads }), refuted };
}

test.each<[string, Finality, number, boolean]>([
  ['a 404 for a hash', NOT_FOUND, 1, true],
  ['an empty list', EMPTY, 1, true],
  ['pending traces that are all final', SETTLED, 1, true],
  ['pending traces that are not all final', UNDER_WAY, 12, false],
  ['children', GROWING, 12, false],
  ['a 404 for a hash, where it is level', NOT_FOUND, 0, false],
  ['pending traces that are all final, where it is level', SETTLED, 0, false],
])('%s from a replica is doubtful while its head is older: %j, %i blocks: %s', (_, finality, lag, isDoubtful) => {
  const replicas = [
    [0, 100 - lag],
    [0, 100],
  ] as const;
  expect(doubtAmong(replicas, lag).doubt.isDoubtful(finality, undefined, 0)).toBe(isDoubtful);
  // The other one is level, and a single one has nothing to be compared with.
  expect(doubtAmong(replicas, lag).doubt.isDoubtful(finality, undefined, 1)).toBe(false);
  expect(doubtAmong([[0, 100]], lag).doubt.isDoubtful(finality, undefined, 0)).toBe(false);
});

test.each<[string, number, readonly (readonly [number, number])[], boolean]>([
  [
    'both have',
    50,
    [
      [0, 100],
      [0, 100],
    ],
    true,
  ],
  [
    'both have, and the first one is behind',
    50,
    [
      [0, 60],
      [0, 100],
    ],
    true,
  ],
  [
    'the first one does not have by its own word',
    5,
    [
      [10, 100],
      [0, 100],
    ],
    false,
  ],
  [
    'only the first one has',
    5,
    [
      [0, 100],
      [10, 100],
    ],
    false,
  ],
  [
    'neither has any more',
    5,
    [
      [10, 100],
      [10, 100],
    ],
    false,
  ],
  [
    'neither has yet',
    101,
    [
      [0, 100],
      [0, 100],
    ],
    false,
  ],
  ['the first one has, beside a backup', 50, [[0, 100]], false],
])('that there is nothing of a block that %s', (_, seqno, replicas, isDoubtful) => {
  const { doubt } = doubtAmong(replicas, 40);
  const refusal = (status: number) => new ProxyError('upstream-error', '', { upstreamStatus: status });
  for (const finality of [NOT_FOUND, EMPTY]) expect(doubt.isDoubtful(finality, seqno, 0)).toBe(isDoubtful);
  expect(doubt.isDoubtfulFailure(refusal(422), seqno, 0)).toBe(isDoubtful);
  for (const finality of [BLOCK, EMPTY_PAGE]) expect(doubt.isDoubtful(finality, seqno, 0)).toBe(false);
  // What failed for a reason of its own is asked for elsewhere in any case.
  expect(doubt.isDoubtfulFailure(refusal(500), seqno, 0)).toBe(false);
  expect(doubt.isDoubtfulFailure(new ProxyError('upstream-timeout', ''), seqno, 0)).toBe(false);
});

test('a better answer is requested from the newest, or for a block from one that has it, without waiting, and from no backup', () => {
  const { doubt, refuted } = doubtAmong(
    [
      [0, 95],
      [0, 100],
      [0, 99],
    ],
    5,
  );
  const lane = besides(firstTry(), 0);
  expect(doubt.elsewhere(firstTry(), 0)).toEqual(aboutBlock(lane, 100));
  expect(doubt.elsewhere(aboutBlock(firstTry(), 7), 0)).toEqual(aboutBlock(lane, 7));
  doubt.refute(7, 0);
  expect(refuted).toEqual([[0, 7]]);
});
