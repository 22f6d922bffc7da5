import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Entry, fingerprints, HIGHEST_RANK, statesOf } from '../../../src/cache/entry.ts';
import { ACCEPTED_AFTER_MS, extended, HEAD_ACCEPTED_AFTER_MS, precedenceOver } from '../../../src/cache/precedence.ts';
import { freshnessOf, keptUntil, usableUntil } from '../../../src/freshness.ts';
import { anEntry } from '../../support/entry.ts';

const NOW = 1_700_000_000_000;

/** A list with the rank for final rows only (2), or for some pending rows (1). */
const listing = (members: readonly string[], tentative: readonly string[], options: Partial<Entry> = {}) => {
  const rank = tentative.length === 0 ? 2 : 1;
  const completeness = { rank, members: fingerprints(members), tentative: fingerprints(tentative) };
  return anEntry({ askedAt: NOW, completeness, ...options });
};
const growing = (members: readonly string[], options: Partial<Entry> = {}) => listing(members, [], options);
const ranked = (rank: number, options: Partial<Entry> = {}) => {
  const completeness = { rank, members: Buffer.alloc(0), tentative: Buffer.alloc(0) };
  return anEntry({ askedAt: NOW, completeness, ...options });
};

describe('compared with a kept answer', () => {
  test('a later one of a lower rank is regressed, and of the same or a higher rank replaces it', () => {
    const grid = [0, 1, 2, 3].map((kept) =>
      [0, 1, 2, 3].map((next) => precedenceOver(ranked(kept), ranked(next, { askedAt: NOW + 1 }), NOW + 1)),
    );
    const [less, more] = ['regressed', 'replaces'];
    expect(grid).toEqual([
      [more, more, more, more],
      [less, more, more, more],
      [less, less, more, more],
      [less, less, less, more],
    ]);
  });

  test.each<[string, string[], string[], string]>([
    ['a later one with one more child replaces it', ['a'], ['a', 'b'], 'replaces'],
    ['a later one with the same children in another order replaces it', ['a', 'b'], ['b', 'a'], 'replaces'],
    ['a later one with one child less is regressed', ['a', 'b'], ['a'], 'regressed'],
    ['a later one with as many children, but one of them different, is regressed', ['a', 'b'], ['a', 'c'], 'regressed'],
    [
      'a later one with more children, but without one of the kept, is regressed',
      ['a', 'b'],
      ['b', 'c', 'd'],
      'regressed',
    ],
  ])('%s', (_, kept, next, expected) => {
    expect(precedenceOver(growing(kept), growing(next, { askedAt: NOW + 1 }), NOW + 1)).toBe(expected);
  });

  test.each<[string, [string[], string[]], [string[], string[]], string]>([
    [
      'a later one with one more child, which is pending, replaces a final list',
      [['a'], []],
      [['a'], ['b']],
      'replaces',
    ],
    ['a later one with one more pending child replaces a pending list', [[], ['a']], [[], ['a', 'b']], 'replaces'],
    ['a later one in which the pending child is final replaces it', [['a'], ['b']], [['a', 'b'], []], 'replaces'],
    [
      'a later one without the pending child, which was invalidated, replaces it',
      [['a'], ['b']],
      [['a'], []],
      'replaces',
    ],
    [
      'a later one with another child in place of the pending one replaces it',
      [['a'], ['b']],
      [['a', 'c'], []],
      'replaces',
    ],
    [
      'a later one with one more child replaces it, even if a final child is pending again',
      [['a', 'b'], []],
      [['a'], ['b', 'c']],
      'replaces',
    ],
    ['a later one in which a final child is pending again is regressed', [['a', 'b'], []], [['a'], ['b']], 'regressed'],
    [
      'a later one with a pending child in place of a final one is regressed',
      [['a', 'b'], []],
      [['a'], ['c']],
      'regressed',
    ],
  ])('%s', (_, kept, next, expected) => {
    expect(precedenceOver(listing(...kept), listing(...next, { askedAt: NOW + 1 }), NOW + 1)).toBe(expected);
  });

  test('a head of an older block is regressed until only such heads have come for 60 s', () => {
    const kept = ranked(62_000_000);
    const lower = (askedAt: number) => ranked(61_999_999, { askedAt });
    expect(precedenceOver(kept, lower(NOW + 1), NOW + 1)).toBe('regressed');
    const later = extended(kept, NOW);
    expect(precedenceOver(later, lower(NOW + 1), NOW + HEAD_ACCEPTED_AFTER_MS - 1)).toBe('regressed');
    expect(precedenceOver(later, lower(NOW + 1), NOW + HEAD_ACCEPTED_AFTER_MS)).toBe('replaces');
    expect(precedenceOver(later, ranked(62_000_001), NOW + 1)).toBe('replaces');
  });

  test('an equally complete one that was requested earlier is superseded', () => {
    expect(precedenceOver(growing(['a']), growing(['a'], { askedAt: NOW - 1 }), NOW)).toBe('older');
  });

  test('a more complete one replaces it even if it was requested earlier', () => {
    expect(precedenceOver(growing(['a']), growing(['a', 'b'], { askedAt: NOW - 1 }), NOW)).toBe('replaces');
  });

  test('a less complete one that was requested earlier is superseded, not regressed', () => {
    expect(precedenceOver(ranked(3), ranked(0, { askedAt: NOW - 1 }), NOW)).toBe('older');
  });

  test('a regressed one replaces it after ten minutes of only regressed ones, and not before', () => {
    const kept = ranked(3, { regressedSince: NOW });
    const next = ranked(0, { askedAt: NOW + ACCEPTED_AFTER_MS });
    expect(precedenceOver(kept, next, NOW + ACCEPTED_AFTER_MS - 1)).toBe('regressed');
    expect(precedenceOver(kept, next, NOW + ACCEPTED_AFTER_MS)).toBe('replaces');
    expect(ACCEPTED_AFTER_MS).toBe(600_000);
  });

  test('of two answers, at most one replaces the other', () => {
    const answers = fc.record({
      rank: fc.integer({ min: 0, max: HIGHEST_RANK }),
      members: fc.subarray(['a', 'b', 'c']),
      tentative: fc.subarray(['a', 'b', 'c', 'd']),
    });
    fc.assert(
      fc.property(answers, answers, (one, other) => {
        const [first, second] = [one, other].map(({ rank, members, tentative }, index) => {
          const completeness = { rank, members: fingerprints(members), tentative: fingerprints(tentative) };
          return anEntry({ askedAt: NOW + index, completeness });
        }) as [Entry, Entry];
        const later = precedenceOver(first, second, NOW);
        const earlier = precedenceOver(second, first, NOW);
        // Whichever arrives first, at most one of the two replaces the other.
        expect([later, earlier].filter((it) => it === 'replaces').length).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('of two answers that show how new their state is', () => {
  const ordered = (order: bigint | undefined, askedAt: number, members: readonly string[] = []) => {
    const parts = { rank: 1, members: fingerprints(members), tentative: Buffer.alloc(0) };
    const completeness = order === undefined ? parts : { order, ...parts };
    return anEntry({ askedAt, completeness });
  };
  /** Any logical times, many of them near the limits of exact doubles (2^53) and signed integers (2^63). */
  const lts = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: 2n ** 53n - 4n, max: 2n ** 53n + 4n }),
    fc.bigInt({ min: 2n ** 63n - 4n, max: 2n ** 63n + 4n }),
  );

  test('an older one never replaces a newer one, in any order of arrival', () => {
    fc.assert(
      fc.property(lts, lts, fc.subarray(['a', 'b']), fc.subarray(['a', 'b']), (one, other, rows, otherRows) => {
        fc.pre(one !== other);
        const [older, newer] = one < other ? [one, other] : [other, one];
        const [first, second] = [ordered(older, NOW + 1, rows), ordered(newer, NOW, otherRows)];
        expect(precedenceOver(second, first, NOW + 1)).toBe('regressed');
        expect(precedenceOver(first, second, NOW + 1)).toBe('replaces');
      }),
    );
  });

  test.each([
    ['both states are equally new', (lt: bigint) => [lt, lt] as const],
    ['only the kept state can be read', (lt: bigint) => [lt, undefined] as const],
    ['only the next state can be read', (lt: bigint) => [undefined, lt] as const],
    ['neither state can be read', () => [undefined, undefined] as const],
  ])('the one that was requested later replaces the other if %s', (_, pair) => {
    fc.assert(
      fc.property(lts, (lt) => {
        const [kept, next] = pair(lt);
        expect(precedenceOver(ordered(kept, NOW), ordered(next, NOW + 1), NOW + 1)).toBe('replaces');
        expect(precedenceOver(ordered(kept, NOW + 1), ordered(next, NOW), NOW + 1)).toBe('older');
      }),
    );
  });

  test('a state of order 0 is older than any other, and is no unreadable one', () => {
    expect(precedenceOver(ordered(1n, NOW), ordered(0n, NOW + 1), NOW + 1)).toBe('regressed');
    expect(precedenceOver(ordered(0n, NOW), ordered(1n, NOW + 1), NOW + 1)).toBe('replaces');
  });
});

describe('a kept answer that is extended', () => {
  const kept = anEntry({ askedAt: NOW, lifetime: 60_000 });
  const later = kept.freshUntil + 5000;

  test('is fresh for one more lifetime, and stale for as long as before', () => {
    const again = extended(kept, later);
    expect(again.freshUntil).toBe(later + 60_000);
    expect(again.staleWhileRevalidate).toBe(kept.staleWhileRevalidate);
    expect(again.staleIfError).toBe(kept.staleIfError);
    expect(freshnessOf(again, later)).toBe('fresh');
  });

  test('keeps the time of the first regressed answer', () => {
    const once = extended(kept, later);
    expect(once.regressedSince).toBe(later);
    expect(extended(once, later + 1000).regressedSince).toBe(later);
  });
});

describe('a kept answer with a retention', () => {
  const RETENTION = { afterUse: 10_000, sinceGiven: 60_000 };
  /** A live answer: usable for 2.4 s. */
  const live = (options: Partial<Entry> = {}) =>
    ranked(1, {
      freshUntil: NOW + 400,
      lifetime: 400,
      staleWhileRevalidate: 0,
      staleIfError: 2000,
      meta: { ...anEntry().meta, retention: RETENTION },
      ...options,
    });

  test('gives way after its use to an equally complete one that was requested earlier', () => {
    const earlier = ranked(1, { askedAt: NOW - 1 });
    expect(precedenceOver(live(), earlier, NOW + 2399)).toBe('older');
    expect(precedenceOver(live(), earlier, NOW + 2400)).toBe('replaces');
    expect(precedenceOver(live(), ranked(0, { askedAt: NOW - 1 }), NOW + 2400)).toBe('older');
  });

  test.each([0, 30])(
    'is unusable 60 s after an indexer sent it, however it is polled, if other caches had it for %i s',
    (age) => {
      const gaps = fc.array(fc.integer({ min: 1, max: 12_400 }), { minLength: 1, maxLength: 200 });
      const end = NOW - age * 1000 + RETENTION.sinceGiven;
      fc.assert(
        fc.property(fc.integer({ min: 2400, max: 12_399 }), gaps, (firstMs, times) => {
          let now = NOW + firstMs;
          let kept = extended(live({ ageValueSeconds: age }), now);
          for (const gap of times) {
            expect(usableUntil(kept)).toBeLessThanOrEqual(end);
            expect(keptUntil(kept)).toBeLessThanOrEqual(end);
            now += gap;
            if (now >= keptUntil(kept)) return;
            expect(precedenceOver(kept, ranked(0, { askedAt: now }), now)).toBe('regressed');
            kept = extended(kept, now);
          }
        }),
      );
    },
  );

  test('is served instead of regressed answers for 10 minutes while it is usable, otherwise until its retention ends', () => {
    const regressedAt = (kept: Entry, now: number) => precedenceOver(kept, ranked(0, { askedAt: now }), now);
    let kept = live();
    let now = NOW;
    for (; now < NOW + ACCEPTED_AFTER_MS; kept = extended(kept, now)) {
      now += 2000;
      expect(regressedAt(kept, now)).toBe('regressed');
    }
    expect(regressedAt(kept, now + 2000)).toBe('replaces');
    expect(keptUntil(kept)).toBe(usableUntil(kept));
    // Its use ends. A later regressed answer starts its use again, limited by the retention.
    const lapsed = extended(extended(live(), NOW + 2399), NOW + 10_000);
    expect(usableUntil(lapsed)).toBe(NOW + 12_400);
    expect(regressedAt(lapsed, NOW + 12_399)).toBe('regressed');
    expect(regressedAt({ ...lapsed, freshUntil: NOW + 70_000 }, NOW + 60_000)).toBe('replaces');
  });
});

describe('an answer with all account states', () => {
  const row = (lacksStates: boolean, askedAt: number, rank = 2) => {
    const { completeness, ...entry } = growing(['a'], { askedAt });
    return { ...entry, completeness: { ...completeness, rank, ...(lacksStates && { lacksStates: true as const }) } };
  };
  const [LACKS, HAS] = [true, false];

  test.each([
    [
      'replaces one with the same rows that lacks a state, even if that was requested later',
      row(LACKS, NOW),
      row(HAS, NOW - 1),
      'replaces',
    ],
    ['is not replaced by one with the same rows that lacks a state', row(HAS, NOW), row(LACKS, NOW + 1), 'regressed'],
    ['is replaced by a later one with the same rows and all states', row(HAS, NOW), row(HAS, NOW + 1), 'replaces'],
    ['is replaced by one of a higher rank that lacks a state', row(HAS, NOW), row(LACKS, NOW + 1, 3), 'replaces'],
  ])('%s', (_, kept, next, expected) => expect(precedenceOver(kept, next, NOW + 1)).toBe(expected));

  test('is replaced by one with a further row that lacks a state', () => {
    const more = growing(['a', 'b'], { askedAt: NOW + 1 });
    const lacking = { ...more, completeness: { ...more.completeness, lacksStates: true as const } };
    expect(precedenceOver(row(HAS, NOW), lacking, NOW + 1)).toBe('replaces');
  });
});

describe('a list of the newest states of accounts', () => {
  const listOf = (states: Readonly<Record<string, bigint>>, askedAt: number) => {
    const nothing = { rank: 1, members: Buffer.alloc(0), tentative: Buffer.alloc(0) };
    return anEntry({ askedAt, completeness: { ...nothing, states: statesOf(Object.entries(states)) } });
  };
  const precedence = (kept: Readonly<Record<string, bigint>>, next: Readonly<Record<string, bigint>>, later = 1) =>
    precedenceOver(listOf(kept, NOW), listOf(next, NOW + later), NOW + 1);

  test('is regressed if it shows an account earlier, and none later', () => {
    expect(precedence({ a: 5n, b: 5n }, { a: 4n, b: 5n })).toBe('regressed');
    expect(precedence({ a: 5n }, { a: 4n, b: 9n })).toBe('regressed');
    expect(precedence({ a: 5n, b: 5n }, { a: 4n, b: 6n })).toBe('replaces');
  });

  test('says nothing by an account that it lacks: the later request counts', () => {
    expect(precedence({ a: 5n, b: 5n }, { a: 5n })).toBe('replaces');
    expect(precedence({ a: 5n }, {})).toBe('replaces');
    expect(precedence({ a: 5n }, { a: 5n, b: 5n }, -1)).toBe('older');
  });

  test('replaces another one if it shows an account later, although it was requested before', () => {
    expect(precedence({ a: 5n }, { a: 6n }, -1)).toBe('replaces');
    expect(precedence({ a: 2n ** 63n }, { a: 2n ** 64n - 1n }, -1)).toBe('replaces');
  });
});
