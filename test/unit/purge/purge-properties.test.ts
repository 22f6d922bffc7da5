import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { freshnessOf } from '../../../src/instants.ts';
import { EVERY_ENTRY } from '../../../src/purge/purge-records.ts';
import { anEntry } from '../../support/entry.ts';
import { cases } from '../../support/property-runs.ts';
import { hard, withAll } from './some-purge-records.ts';

const RUNS = cases(1000);

const tags = fc.constantFrom('a', 'b', 'c', EVERY_ENTRY);
const instants = fc.integer({ min: 1, max: 60 });
const record = fc.record({ tag: tags, soft: fc.boolean(), at: instants });
const entries = fc
  .tuple(fc.subarray(['a', 'b', 'c'], { minLength: 1 }), instants, fc.nat(30), fc.nat(20), fc.nat(20))
  .map(([words, askedAt, lifetime, swr, sie]) => {
    return anEntry({
      key: words.join(' '),
      askedAt,
      freshUntil: askedAt + lifetime,
      staleWhileRevalidate: swr,
      staleIfError: sie,
    });
  });

describe('whatever is purged,', () => {
  test('the result is the same in any order and any number of times', () => {
    fc.assert(
      fc.property(fc.array(record), fc.gen(), entries, (given, gen, entry) => {
        const shuffled = gen(fc.shuffledSubarray, [...given, ...given], { minLength: given.length * 2 });
        expect(withAll(shuffled).applyBans(entry)).toEqual(withAll(given).applyBans(entry));
        expect(withAll(shuffled).epoch).toBe(withAll(given).epoch);
        expect([...withAll([...withAll(given).all()]).all()]).toEqual([...withAll(given).all()]);
      }),
      RUNS,
    );
  });

  test('bans that are applied again leave the same', () => {
    fc.assert(
      fc.property(fc.array(record), entries, (given, entry) => {
        const records = withAll(given);
        const once = records.applyBans(entry);
        if (once !== undefined) expect(records.applyBans(once)).toBe(once);
      }),
      RUNS,
    );
  });

  test('no entry lives longer, none is fresh that a purge covers, and none becomes better again with time', () => {
    const worth = { fresh: 3, 'stale-while-revalidate': 2, 'stale-if-error': 1, expired: 0 };
    fc.assert(
      fc.property(fc.array(record), entries, fc.nat(150), fc.nat(20), (given, entry, first, later) => {
        // Instants of purges may lie ahead of the clock: they include a margin for clocks that differ.
        let now = first;
        const records = withAll(given, () => now);
        const named = given.filter(
          ({ tag, soft }) => entry.key.split(' ').includes(tag) || (tag === EVERY_ENTRY && soft),
        );
        const purged = named.filter(({ at }) => at >= entry.askedAt);
        let most = 3;
        for (now of [first, first + later]) {
          const remaining = records.applyBans(entry);
          const left = remaining === undefined ? 0 : worth[freshnessOf(remaining, now)];
          expect(left).toBeLessThanOrEqual(Math.min(most, worth[freshnessOf(entry, now)]));
          if (purged.some((one) => !one.soft)) expect(remaining).toBeUndefined();
          else if (purged.length === 0) expect(remaining).toBe(entry);
          else expect(left).toBeLessThan(3);
          most = left;
        }
      }),
      RUNS,
    );
  });

  test('an entry that a purge ended or shortened was requested before the last purge of its key', () => {
    fc.assert(
      fc.property(fc.array(record), entries, (given, entry) => {
        const records = withAll(given);
        if (records.applyBans(entry) !== entry)
          expect(records.purgedUntil(entry)).toBeGreaterThanOrEqual(entry.askedAt);
        const named = given.filter(
          ({ tag, soft }) => entry.key.split(' ').includes(tag) || (tag === EVERY_ENTRY && soft),
        );
        expect(records.purgedUntil(entry)).toBe(Math.max(0, ...named.map(({ at }) => at)));
      }),
      RUNS,
    );
  });

  test('one more hard purge never lengthens the life of an entry', () => {
    fc.assert(
      fc.property(fc.array(record), tags, instants, entries, (given, tag, at, entry) => {
        const [before, after] = [withAll(given).applyBans(entry), withAll([...given, hard(tag, at)]).applyBans(entry)];
        if (after !== undefined) expect(after).toEqual(before);
      }),
      RUNS,
    );
  });
});
