import { describe, expect, test, vi } from 'vitest';
import { EVERY_ENTRY } from '../../../src/purge/purge-records.ts';
import { anEntry } from '../../support/entry.ts';
import { hard, soft, someRecords, withAll } from './some-purge-records.ts';

describe('a hard purge', () => {
  test('ends the entries that have its tag and were requested up to its instant, and no others', () => {
    const records = withAll([hard('a', 100)]);
    expect(records.applyBans(anEntry({ key: 'a b', askedAt: 100 }))).toBeUndefined();
    for (const kept of [anEntry({ key: 'a b', askedAt: 101 }), anEntry({ key: 'b', askedAt: 1 })]) {
      expect(records.applyBans(kept)).toBe(kept);
    }
  });

  test('of everything raises the epoch, which only grows, and reports it', () => {
    const onEpoch = vi.fn();
    const records = someRecords({ onEpoch });
    expect([records.apply(hard(EVERY_ENTRY, 100)), records.apply(hard(EVERY_ENTRY, 99))]).toEqual([true, false]);
    expect(records.apply(hard(EVERY_ENTRY, 100))).toBe(false);
    expect([records.epoch, onEpoch.mock.calls.length]).toEqual([100, 1]);
    const entry = anEntry({ key: 'a', askedAt: 1 });
    expect(records.applyBans(entry)).toBe(entry);
  });

  test('that follows another at once is dated later', () => {
    const records = someRecords({ now: () => 99.5 });
    for (const tag of ['a', EVERY_ENTRY]) {
      const [first, second] = [1, 2].map(() => {
        const at = records.nextAt(hard(tag, 0));
        records.apply(hard(tag, at));
        return at;
      });
      expect([first, second]).toEqual([100, 101]);
    }
  });
});

describe('a soft purge', () => {
  const entry = anEntry({
    key: 'a',
    askedAt: 100,
    freshUntil: 200,
    staleWhileRevalidate: 10,
    staleIfError: 40,
  });

  test.each(['a', EVERY_ENTRY])('of %s ends the lifetime; the stale windows keep their lengths', (tag) => {
    expect(withAll([soft(tag, 150)]).applyBans(entry)).toEqual({ ...entry, freshUntil: 150 });
  });

  test('leaves entries as they are that are stale already or were requested later', () => {
    expect(withAll([soft('a', 200)]).applyBans(entry)).toBe(entry);
    expect(withAll([soft('a', 99)]).applyBans(entry)).toBe(entry);
  });

  test('does not weaken a hard purge', () => {
    expect(withAll([hard('a', 100), soft('a', 150)]).applyBans(entry)).toBeUndefined();
  });
});

describe('a purge that is in force', () => {
  const now = 1000.5;
  const entry = anEntry({ key: 'a', askedAt: 900, freshUntil: 5000 });

  test.each([0, 1, 40, 3999, 50_000])(
    'ends the lifetime now when its instant lies %i ms ahead of the clock',
    (ahead) => {
      const records = someRecords({ now: () => now });
      records.apply(soft('a', now + ahead));
      expect(records.applyBans(entry)?.freshUntil).toBe(now);
    },
  );

  test.each([1, 40, 999, 60_000])('covers an entry that was dated by a clock %i ms ahead', (ahead) => {
    for (const isSoft of [true, false]) {
      const records = someRecords({ now: () => now });
      const early = anEntry({ ...entry, askedAt: now + ahead, freshUntil: now + ahead + 5000 });
      expect(records.applyBans(early)).toBe(early);
      const purge = { tag: 'a', soft: isSoft };
      records.apply({ ...purge, at: records.nextAt(purge) });
      const left = records.applyBans(early);
      expect(left === undefined || left.freshUntil <= now).toBe(true);
    }
  });

  test('is not delayed for long by an entry that a clock far ahead has dated', () => {
    const records = someRecords({ now: () => now });
    records.applyBans(anEntry({ key: 'b', askedAt: now + 1e9, freshUntil: now + 2e9 }));
    expect(records.nextAt({ tag: 'a', soft: true })).toBeLessThan(now + 60_001);
  });
});

describe('an entry that no ban covers', () => {
  test('has its tags read once, and again after the next purge', () => {
    const tagsOf = vi.fn(() => ['a']);
    const records = someRecords({ tagsOf });
    const entry = anEntry({ askedAt: 10 });
    records.apply(hard('b', 1000));
    for (let time = 0; time < 3; time++) expect(records.applyBans(entry)).toBe(entry);
    expect(tagsOf).toHaveBeenCalledTimes(1);
    records.apply(hard('a', 1000));
    expect(records.applyBans(entry)).toBeUndefined();
  });
});

describe('when records are trimmed', () => {
  test('those before the instant are dropped, and the epoch never', () => {
    const records = withAll([hard(EVERY_ENTRY, 1), hard('a', 50), soft('a', 60), hard('b', 59)]);
    records.trim(60);
    expect([...records.all()]).toEqual([hard(EVERY_ENTRY, 1), soft('a', 60)]);
    expect(records.newest).toEqual(soft('a', 60));
    records.trim(61);
    expect([...records.all()]).toEqual([hard(EVERY_ENTRY, 1)]);
    expect([records.epoch, records.newest]).toEqual([1, undefined]);
  });

  test('those of a clock that was far ahead are dated back to the latest possible instant', () => {
    const onEpoch = vi.fn();
    const records = someRecords({ onEpoch });
    for (const record of [hard(EVERY_ENTRY, 900), hard('a', 50), soft('a', 901)]) records.apply(record);
    records.trim(0, 100);
    records.correctEpoch(70);
    expect([...records.all()]).toEqual([hard(EVERY_ENTRY, 70), hard('a', 50), soft('a', 100)]);
    expect(records.newest).toEqual(soft('a', 100));
    // Keys that were made of the wrong epoch are of no use.
    expect(onEpoch).toHaveBeenCalledTimes(2);
  });

  test('tags are not looked up while there are none', () => {
    const tagsOf = vi.fn(() => ['a']);
    const records = someRecords({ tagsOf });
    records.apply(hard(EVERY_ENTRY, 1000));
    records.applyBans(anEntry({ askedAt: 10 }));
    records.apply(hard('a', 1000));
    records.applyBans(anEntry({ askedAt: 1001 }));
    expect(tagsOf).not.toHaveBeenCalled();
    records.applyBans(anEntry({ askedAt: 1000 }));
    expect(tagsOf).toHaveBeenCalledOnce();
  });
});
