import { expect, test } from 'vitest';
import { FIRST_TRY } from '../../../src/admission/send-rules.ts';
import { ProxyError } from '../../../src/errors.ts';
import { besides, secondTryWith } from '../../../src/fleet/second-try.ts';
import type { Finality } from '../../../src/ton/finality.ts';

const NOT_FOUND: Finality = { rule: 'notFound' };
const EMPTY: Finality = { rule: 'empty' };
const EMPTY_PAGE: Finality = { rule: 'emptyOfBlock' };
const SETTLED: Finality = { rule: 'pendingFinalized' };
const UNDER_WAY: Finality = { rule: 'pendingLive' };
const GROWING: Finality = { rule: 'adjacentGrowing' };
const BLOCK: Finality = { rule: 'shardsFinal' };

/** Replicas with these blocks, of which the first lags by `lagOfFirst`, and a backup with all blocks. */
function doubtAmong(replicas: readonly (readonly [first: number, last: number])[], lagOfFirst = 0) {
  const indexers = [...replicas, [0, 1e9] as const].map(([first, last], index) => ({
    route: { isBackup: index === replicas.length },
    head: {
      newestBlock: last,
      hasBlock: (seqno: number) => first <= seqno && seqno <= last,
      refute: () => {},
    },
  }));
  const heads = replicas.length > 1 ? { lag: (index: number) => (index === 0 ? lagOfFirst : 0) } : undefined;
  return secondTryWith({ indexers, heads, retries: { tryTake: () => false } });
}

test.each<[string, Finality, number, boolean]>([
  ['a 404 for a hash', NOT_FOUND, 1, true],
  ['an empty list', EMPTY, 1, true],
  ['pending traces that are all final', SETTLED, 1, true],
  ['pending traces that are not all final', UNDER_WAY, 12, false],
  ['children', GROWING, 12, false],
  ['a 404 for a hash', NOT_FOUND, 0, false],
  ['pending traces that are all final', SETTLED, 0, false],
])('%s from a replica (%j) that lags by %i blocks is doubtful: %s', (_, finality, lag, isDoubtful) => {
  const replicas = [
    [0, 100 - lag],
    [0, 100],
  ] as const;
  expect(doubtAmong(replicas, lag).isDoubtful(finality, undefined, 0)).toBe(isDoubtful);
  // The other replica does not lag, and a single replica has no other to be compared with.
  expect(doubtAmong(replicas, lag).isDoubtful(finality, undefined, 1)).toBe(false);
  expect(doubtAmong([[0, 100]], lag).isDoubtful(finality, undefined, 0)).toBe(false);
});

test.each<[string, number, readonly (readonly [number, number])[], boolean]>([
  [
    'both replicas have is doubtful',
    50,
    [
      [0, 100],
      [0, 100],
    ],
    true,
  ],
  [
    'both replicas have is doubtful, even if the first one lags',
    50,
    [
      [0, 60],
      [0, 100],
    ],
    true,
  ],
  [
    'only the second replica reports is not doubtful',
    5,
    [
      [10, 100],
      [0, 100],
    ],
    false,
  ],
  [
    'only the first replica reports is not doubtful',
    5,
    [
      [0, 100],
      [10, 100],
    ],
    false,
  ],
  [
    'both replicas no longer have is not doubtful',
    5,
    [
      [10, 100],
      [10, 100],
    ],
    false,
  ],
  [
    'neither replica has yet is not doubtful',
    101,
    [
      [0, 100],
      [0, 100],
    ],
    false,
  ],
  ['only the first replica and a backup have is not doubtful', 50, [[0, 100]], false],
])('"nothing there" from the first replica about a block that %s', (_, seqno, replicas, isDoubtful) => {
  const { isDoubtful: judge, after } = doubtAmong(replicas, 40);
  for (const finality of [NOT_FOUND, EMPTY]) expect(judge(finality, seqno, 0)).toBe(isDoubtful);
  for (const finality of [BLOCK, EMPTY_PAGE]) expect(judge(finality, seqno, 0)).toBe(false);
  const request = { ...FIRST_TRY, seqno };
  const refusal = (status: number) => new ProxyError('upstream-error', '', { upstreamStatus: status });
  expect(after(refusal(422), request, 0, false)).toEqual(isDoubtful ? besides(request, 0) : undefined);
  // A second try after these failures is paid for, and here is nothing left to pay with.
  expect(after(refusal(500), request, 0, false)).toBe(undefined);
  expect(after(new ProxyError('upstream-timeout', ''), request, 0, false)).toBe(undefined);
});

test('a better answer is requested without waiting, from a replica with the block, or with the newest block if it is about none', () => {
  const { after } = doubtAmong(
    [
      [0, 95],
      [0, 100],
      [0, 99],
    ],
    5,
  );
  const doubtful = { isAbsent: true, isDoubtful: true, isRegressed: false };
  const extra = besides(FIRST_TRY, 0);
  expect(after(doubtful, FIRST_TRY, 0, false)).toEqual({ ...extra, seqno: 100 });
  expect(after(doubtful, { ...FIRST_TRY, seqno: 7 }, 0, false)).toEqual({ ...extra, seqno: 7 });
});
