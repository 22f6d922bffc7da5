import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import { anEntry } from '../../support/entry.ts';

const ASKED_AT = 1_700_000_000_000;
const MIB = 1024 * 1024;

function tierAt(startAt = ASKED_AT, maxSizeBytes = MIB) {
  const clock = { now: startAt };
  return { clock, tier: new MemoryTier({ now: () => clock.now }, { maxEntries: 1000, maxSizeBytes }) };
}

describe('the size limit', () => {
  test('is never exceeded, and counts body, key and overhead', () => {
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

  test('counts keys', () => {
    const { tier } = tierAt(ASKED_AT, 640_000);
    const accounts = 'account=0&'.repeat(1000);
    for (let index = 0; index < 100; index++) {
      tier.set(anEntry({ key: `${accounts}${index}`, body: Buffer.alloc(40) }));
      expect(tier.sizeBytes).toBeLessThanOrEqual(640_000);
      expect(tier.sizeBytes).toBeGreaterThanOrEqual(tier.count * accounts.length);
    }
    expect(tier.count).toBeLessThan(64);
  });

  test('evicts the least recently used entry', () => {
    const { tier } = tierAt(ASKED_AT, 16_500);
    const entries = Array.from({ length: 19 }, (_, index) => anEntry({ key: `${index}`, body: Buffer.alloc(40) }));
    for (const entry of entries.slice(0, 18)) tier.set(entry);
    expect(tier.get('0').state).toBe('found');
    tier.set(anEntry({ key: 'x', body: Buffer.alloc(40) }));
    tier.set(anEntry({ key: 'y', body: Buffer.alloc(40) }));
    expect(tier.get('0').state).toBe('found');
    expect(tier.get('1').state).toBe('absent');
  });

  test('refuses an entry over a sixteenth of it, and drops the older one that it would replace', () => {
    const { tier } = tierAt(ASKED_AT, 160_000);
    const key = 'k';
    tier.set(anEntry({ key, body: Buffer.alloc(9_199) }));
    expect(tier.get(key).state).toBe('found');
    tier.set(anEntry({ key, body: Buffer.alloc(9_200) }));
    expect(tier.get(key).state).toBe('absent');
    expect(tier).toMatchObject({ count: 0, sizeBytes: 0 });
  });
});

describe('two answers to one key', () => {
  const earlier = anEntry({ askedAt: ASKED_AT, body: Buffer.from('earlier') });

  test('an expired one does not keep out an earlier one that lives longer', () => {
    const { tier, clock } = tierAt(ASKED_AT + 1);
    tier.set(
      anEntry({
        askedAt: ASKED_AT + 1,
        freshUntil: ASKED_AT + 2,
        staleWhileRevalidate: 0,
        staleIfError: 0,
      }),
    );
    clock.now = ASKED_AT + 2;
    tier.set(earlier);
    expect(tier.get(earlier.key)).toEqual({ state: 'found', entry: earlier });
  });
});

describe('a copy in memory', () => {
  test('says when to ask Redis again, counted from when it was stored in memory', () => {
    const { tier } = tierAt(ASKED_AT + 500);
    tier.set(anEntry({ askedAt: ASKED_AT, memoryTtl: 10_000 }));
    expect(tier.peek(anEntry().key)?.askRedisAt).toBe(ASKED_AT + 10_500);
  });
});

test('the number of entries is bounded, and the one that was used longest ago goes first', () => {
  const tier = new MemoryTier({ now: () => ASKED_AT }, { maxEntries: 3, maxSizeBytes: MIB });
  for (const key of ['a', 'b', 'c']) tier.set(anEntry({ key }));
  tier.get('a');
  tier.set(anEntry({ key: 'd' }));
  expect(['a', 'b', 'c', 'd'].map((key) => tier.get(key).state)).toEqual(['found', 'absent', 'found', 'found']);
  expect(tier.count).toBe(3);
});

test('room is made by evicting what has expired, else the sixteenth that was used longest ago', () => {
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
  expect(['lasting 10', 'lasting 11', 'lasting 12'].map((key) => tier.get(key).state)).toEqual([
    'absent',
    'absent',
    'found',
  ]);
});

test('long keys together take 64 MiB at most, whatever the size limit is', () => {
  const tier = new MemoryTier({ now: () => ASKED_AT }, { maxEntries: 1e6, maxSizeBytes: 1024 * MIB });
  for (let index = 0; index < 200; index++) tier.set(anEntry({ key: `${index} `.padEnd(MIB, 'k') }));
  expect(tier.count).toBeGreaterThan(50);
  expect(tier.count).toBeLessThanOrEqual(64);
});
