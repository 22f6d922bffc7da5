import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import { anEntry, aProof, type EntryOptions } from '../../support/entry.ts';

const ASKED_AT = 1_700_000_000_000;
const MIB = 1024 * 1024;

function tierAt(startAt = ASKED_AT, maxSizeBytes = MIB) {
  const clock = { now: startAt };
  return { clock, tier: new MemoryTier({ now: () => clock.now, maxSizeBytes }) };
}

describe('the size limit', () => {
  test('is never exceeded, and counts at least 800 bytes for each entry', () => {
    const set = fc.record({ key: fc.integer({ min: 0, max: 40 }), size: fc.integer({ min: 0, max: 9000 }) });
    fc.assert(
      fc.property(fc.array(set, { maxLength: 120 }), (sets) => {
        const { tier } = tierAt(ASKED_AT, 64 * 1024);
        for (const { key, size } of sets) {
          const entry = anEntry({ key: `key ${key}`, body: Buffer.alloc(size) });
          tier.set(entry);
          expect(tier.sizeBytes).toBeLessThanOrEqual(64 * 1024);
          expect(tier.sizeBytes).toBeGreaterThanOrEqual(tier.count * 800);
        }
      }),
    );
  });

  test('rejects an entry larger than a sixteenth of it, and drops the older entry of the same key', () => {
    const { tier } = tierAt(ASKED_AT, 160_000);
    const key = 'k';
    tier.set(anEntry({ key, body: Buffer.alloc(9_199) }));
    expect(tier.get(key)).toBeDefined();
    tier.set(anEntry({ key, body: Buffer.alloc(9_200) }));
    expect(tier.get(key)).toBeUndefined();
    expect(tier).toMatchObject({ count: 0, sizeBytes: 0 });
  });
});

/** The keys of as many entries as fit into {@link SIXTEEN_FIT}. */
const SIXTEEN = [...'abcdefghijklmnop'];
const SIXTEEN_FIT = 160_000;
const aSixteenth = (key: string, options: EntryOptions = {}) =>
  anEntry({ ...options, key, body: Buffer.alloc(SIXTEEN_FIT / 16 - 800 - key.length) });

test('the least recently used entry is evicted first', () => {
  const { tier } = tierAt(ASKED_AT, SIXTEEN_FIT);
  for (const key of SIXTEEN) tier.set(aSixteenth(key));
  tier.get('a');
  tier.set(aSixteenth('q'));
  expect([...SIXTEEN, 'q'].filter((key) => tier.get(key) === undefined)).toEqual(['b']);
});

test('an eviction is reported only of a fresh entry; replacing, deleting and clearing are not reported', () => {
  const clock = { now: ASKED_AT };
  let evicted = 0;
  const onEvicted = () => void evicted++;
  const tier = new MemoryTier({ now: () => clock.now, maxSizeBytes: SIXTEEN_FIT, onEvicted });
  for (const key of [...SIXTEEN, 'b', 'q']) tier.set(aSixteenth(key));
  expect(evicted).toBe(1);
  clock.now += 60_000;
  tier.set(aSixteenth('r', { askedAt: clock.now }));
  tier.delete('r');
  tier.clear();
  expect(evicted).toBe(1);
});

test('peeking at an entry does not count as a use', () => {
  const { tier, clock } = tierAt();
  for (const key of ['a', 'b']) tier.set(anEntry({ key, askedAt: ASKED_AT }));
  expect(tier.peek('a')?.key).toBe('a');
  clock.now += 3_600_000;
  expect([tier.peek('a'), tier.count]).toEqual([undefined, 2]);
  clock.now = ASKED_AT;
  const { tier: full } = tierAt(ASKED_AT, SIXTEEN_FIT);
  for (const key of SIXTEEN) full.set(aSixteenth(key));
  full.peek('a');
  full.set(aSixteenth('q'));
  expect([...SIXTEEN, 'q'].filter((key) => full.peek(key) === undefined)).toEqual(['a']);
});

test('makeRoom evicts expired entries, or else the least recently used sixteenth', () => {
  const { tier, clock } = tierAt();
  const lasting = Array.from({ length: 32 }, (_, index) =>
    anEntry({ key: `lasting ${index + 10}`, askedAt: ASKED_AT }),
  );
  for (const entry of lasting) tier.set(entry);
  tier.set(
    anEntry({ key: 'short', askedAt: ASKED_AT, freshUntil: ASKED_AT + 1, staleWhileRevalidate: 0, staleIfError: 0 }),
  );
  clock.now += 1;
  tier.makeRoom();
  expect(tier.count).toBe(32);
  tier.makeRoom();
  expect(tier.count).toBe(30);
  expect(['lasting 10', 'lasting 11', 'lasting 12'].filter((key) => tier.get(key) !== undefined)).toEqual([
    'lasting 12',
  ]);
});

test('makeRoom first evicts entries that are kept only for comparison', () => {
  const { tier, clock } = tierAt();
  const retention = { afterUse: 10_000, sinceGiven: 600_000 };
  for (let index = 0; index < 32; index++) tier.set(anEntry({ key: `lasting ${index}`, askedAt: ASKED_AT }));
  const [staleWhileRevalidate, staleIfError] = [0, 0];
  tier.set(anEntry({ key: 'kept', freshUntil: ASKED_AT + 1, staleWhileRevalidate, staleIfError, meta: { retention } }));
  clock.now += 1;
  expect(tier.peek('kept')).toBeDefined();
  tier.makeRoom();
  expect([tier.peek('kept'), tier.count]).toEqual([undefined, 32]);
});

describe('makeRoom in a tier of 20 000 entries', () => {
  /** A tier whose entries count the reads of their `freshUntil`. The first `expiring` entries have just expired. */
  function tierOf(count: number, expiring: number) {
    const { tier, clock } = tierAt(ASKED_AT, 1024 * MIB);
    let looks = 0;
    for (let index = 0; index < count; index++) {
      const freshUntil = ASKED_AT + (index < expiring ? 1000 : 60_000);
      const entry = anEntry({ key: `key ${index}`, staleWhileRevalidate: 0, staleIfError: 0 });
      const look = () => {
        looks++;
        return freshUntil;
      };
      Object.defineProperty(entry, 'freshUntil', { get: look });
      tier.set(entry);
    }
    clock.now += 1000;
    looks = 0;
    return { tier, looks: () => looks };
  }
  const remainingBytes = (tier: MemoryTier, room: () => void) => {
    const before = tier.sizeBytes;
    room();
    return tier.sizeBytes / before;
  };

  test('checks only the 4096 least recently used ones for expiry', () => {
    const { tier, looks } = tierOf(20_000, 0);
    tier.makeRoom();
    expect(looks()).toBe(4096);
  });

  test('evicts only the expired ones if these are at least a 64th', () => {
    const { tier } = tierOf(20_000, 2000);
    expect(remainingBytes(tier, () => tier.makeRoom())).toBeCloseTo(18 / 20, 2);
    expect(tier.count).toBe(18_000);
  });

  test('evicts a sixteenth if only a few have expired', () => {
    const { tier } = tierOf(20_000, 5);
    expect(remainingBytes(tier, () => tier.makeRoom())).toBeCloseTo(15 / 16, 2);
  });
});

test('long keys use at most 64 MiB, also with a size limit of 1 GiB', () => {
  const tier = new MemoryTier({ now: () => ASKED_AT, maxSizeBytes: 1024 * MIB });
  for (let index = 0; index < 200; index++) tier.set(anEntry({ key: `${index} `.padEnd(MIB, 'k') }));
  expect(tier.count).toBeGreaterThan(50);
  expect(tier.count).toBeLessThanOrEqual(64);
});

describe('an entry that blocks may prove', () => {
  /** Usable for 10 s, and provable for a minute. */
  const aProvable = (key: string, proof = aProof({ keptMs: 60_000 })) =>
    anEntry({ key, freshUntil: ASKED_AT + 10_000, staleWhileRevalidate: 0, staleIfError: 0, proof });

  test('counts with the memory of its proof', () => {
    const { tier } = tierAt();
    tier.set(aProvable('one'));
    const before = tier.sizeBytes;
    tier.set(aProvable('one', aProof({ bytes: 5000 })));
    expect(tier.sizeBytes).toBe(before + 5000);
  });

  test('is not counted as provable if its proof only judges whether it is outdated', () => {
    const { tier } = tierAt();
    tier.set(aProvable('one', aProof({ keptMs: 0 })));
    expect(tier.provable).toBe(0);
  });

  test('is kept until it can no longer be proven, also when memory is freed', () => {
    const { clock, tier } = tierAt();
    tier.set(aProvable('provable'));
    tier.set(anEntry({ key: 'other', freshUntil: ASKED_AT + 10_000, staleWhileRevalidate: 0, staleIfError: 0 }));
    clock.now = ASKED_AT + 59_999;
    tier.makeRoom();
    expect([tier.peek('provable')?.key, tier.peek('other')]).toEqual(['provable', undefined]);
    clock.now = ASKED_AT + 60_000;
    expect(tier.get('provable')).toBe(undefined);
  });

  test('is counted as provable while it is kept, however it is removed', () => {
    const { tier } = tierAt();
    for (const key of ['one', 'two', 'three', 'four']) tier.set(aProvable(key));
    tier.set(aProvable('one'));
    expect(tier.provable).toBe(4);
    tier.set(anEntry({ key: 'one' }));
    tier.delete('two');
    expect(tier.provable).toBe(2);
    tier.set({ ...aProvable('three'), content: anEntry({ body: Buffer.alloc(MIB) }).content });
    expect([tier.peek('three'), tier.provable]).toEqual([undefined, 1]);
    tier.clear();
    expect(tier.provable).toBe(0);
  });
});
