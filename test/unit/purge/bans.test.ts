import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../../src/cache/entry.ts';
import { type Ban, Bans, EVERY_ENTRY } from '../../../src/purge/bans.ts';
import { anEntry } from '../../support/entry.ts';
import { cases } from '../../support/property-runs.ts';

const RUNS = cases(1000);

/** The words of a key are the tags of its entry. */
const tagsOf = ({ key }: Entry) => key.split(' ');

/** Bans that were learned in this order. */
function bansOf(given: readonly Ban[], { now = (): number => 0 } = {}): Bans {
  const bans = new Bans(now);
  for (const ban of given) bans.raise(ban);
  return bans;
}

const known = (bans: Bans) => [...bans.all()].toSorted((one, other) => (one.tag < other.tag ? -1 : 1));

const ban = fc.record({ tag: fc.constantFrom('a', 'b', 'c', EVERY_ENTRY), at: fc.integer({ min: 1, max: 60 }) });
const entries = fc
  .tuple(fc.subarray(['a', 'b', 'c'], { minLength: 1 }), fc.integer({ min: 1, max: 60 }))
  .map(([words, askedAt]) => anEntry({ key: words.join(' '), askedAt, freshUntil: askedAt + 10 }));

describe('for any bans,', () => {
  test('an entry is purged if a ban of one of its tags is not older than its request, and unchanged otherwise', () => {
    fc.assert(
      fc.property(fc.array(ban), fc.array(entries), (given, asked) => {
        const bans = bansOf([]);
        const learned: Ban[] = [];
        // Each entry is looked up before each ban, and once more after the last one.
        for (const next of [...given, undefined]) {
          for (const entry of asked) {
            const covering = learned.filter(({ tag }) => tag === EVERY_ENTRY || entry.key.split(' ').includes(tag));
            const until = Math.max(0, ...covering.map(({ at }) => at));
            expect(bans.purgedUntil(tagsOf(entry))).toBe(until);
            expect(bans.applyBans(entry, tagsOf(entry))).toBe(entry.askedAt <= until ? undefined : entry);
          }
          if (next === undefined) continue;
          bans.raise(next);
          learned.push(next);
        }
      }),
      RUNS,
    );
  });

  test('the known bans are the same in whatever order and however often they are learned', () => {
    fc.assert(
      fc.property(fc.array(ban), fc.gen(), (given, gen) => {
        const shuffled = gen(fc.shuffledSubarray, [...given, ...given], { minLength: given.length * 2 });
        expect(known(bansOf(shuffled))).toEqual(known(bansOf(given)));
      }),
      RUNS,
    );
  });
});

describe('a new purge', () => {
  const now = () => 1000.5;

  test.each([-10, 1, 40, 999, 60_000])('covers an entry whose request was dated %i ms ahead', (ahead) => {
    const bans = bansOf([], { now });
    const early = anEntry({ key: 'a', askedAt: now() + ahead, freshUntil: now() + ahead + 5000 });
    expect(bans.applyBans(early, tagsOf(early))).toBe(early);
    bans.raise({ tag: 'a', at: bans.nextAt() });
    expect(bans.applyBans(early, tagsOf(early))).toBeUndefined();
  });

  test.each([
    [20_000, true],
    [59_999, true],
    [60_001, false],
  ])('covers the entries of other instances after the clock was set back by %i ms: %s', (byMs, isCovered) => {
    const bans = bansOf([], { now });
    bans.trim(now() + byMs, 1e9);
    bans.trim(now(), 1e9);
    bans.raise({ tag: 'a', at: bans.nextAt() });
    const early = anEntry({ key: 'a', askedAt: now() + byMs });
    expect(bans.applyBans(early, tagsOf(early)) === undefined).toBe(isCovered);
  });

  test('is dated at most a minute ahead, even after an entry from a clock far ahead', () => {
    const bans = bansOf([], { now });
    bans.applyBans(anEntry({ key: 'b', askedAt: now() + 1e9, freshUntil: now() + 2e9 }), ['b']);
    expect(bans.nextAt()).toBeLessThan(now() + 60_001);
  });
});

test('trimming forgets old bans, and sets bans from a clock far ahead back to now', () => {
  const bans = bansOf([
    { tag: EVERY_ENTRY, at: 499 },
    { tag: 'old', at: 500 },
    { tag: 'skewed', at: 61_000 },
    { tag: 'ahead', at: 61_001 },
  ]);
  bans.trim(1000, 500);
  expect(known(bans)).toEqual([
    { tag: 'ahead', at: 1000 },
    { tag: 'old', at: 500 },
    { tag: 'skewed', at: 61_000 },
  ]);
});
