import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isHeld,
  type KnownChainTime,
  mergeKnown,
  NOTHING_KNOWN,
  shownBy,
} from '../../../src/proxy/known-chain-time.ts';
import { someKnownChainTime } from '../../support/some-known-chain-time.ts';

const NOW = 1_800_000_000_000;
const known = someKnownChainTime(NOW);

const merged = (one: KnownChainTime, other: KnownChainTime) => {
  const both = mergeKnown(one, other);
  expect(mergeKnown(other, one)).toEqual(both);
  return both;
};

describe('what two know of the chain time', () => {
  test('is what one of them knows, whichever is asked first', () => {
    fc.assert(fc.property(known, known, (one, other) => void expect([one, other]).toContainEqual(merged(one, other))));
    fc.assert(fc.property(known, (one) => void expect(merged(one, one)).toEqual(one)));
  });

  test('is the newer time if both were shown within 60 s, and was shown when that was', () => {
    const newer = { newestAt: NOW, shownAt: NOW - 60_000 };
    const older = { newestAt: NOW - 1, shownAt: NOW };
    expect(merged(newer, older)).toEqual(newer);
  });

  test('is the time that was shown later if the other one was not shown for 60 s', () => {
    const newer = { newestAt: NOW, shownAt: NOW - 60_001 };
    const older = { newestAt: NOW - 3_600_000, shownAt: NOW };
    expect(merged(newer, older)).toEqual(older);
  });

  test('was shown at the later instant if both know the same time', () => {
    for (const earlierAt of [NOW - 1, NOW - 3_600_000]) {
      const later = { newestAt: NOW, shownAt: NOW };
      expect(merged({ newestAt: NOW, shownAt: earlierAt }, later)).toEqual(later);
    }
  });

  test('is never a time that does not count any more beside the later one', () => {
    fc.assert(
      fc.property(known, known, (one, other) => {
        expect(isHeld(merged(one, other), Math.max(one.shownAt, other.shownAt))).toBe(true);
      }),
    );
  });

  test('is what one knows while the other knows nothing', () => {
    fc.assert(fc.property(known, (one) => void expect(merged(one, NOTHING_KNOWN)).toEqual(one)));
  });
});

test('a time that was shown by a clock ahead of ours counts as shown now', () => {
  const early = { newestAt: NOW, shownAt: NOW - 1 };
  expect(shownBy(NOW, early)).toEqual(early);
  expect(shownBy(NOW, { newestAt: NOW, shownAt: NOW + 3_600_000 })).toEqual({ newestAt: NOW, shownAt: NOW });
});
