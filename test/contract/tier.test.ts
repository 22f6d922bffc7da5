import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, describe, expect, inject, test } from 'vitest';
import type { Entry } from '../../src/cache/entry.ts';
import { MemoryTier } from '../../src/cache/memory-tier.ts';
import { extended } from '../../src/cache/precedence.ts';
import { redisKeyFor } from '../../src/cache/redis-keys.ts';
import { RedisTier } from '../../src/cache/redis-tier.ts';
import { keptUntil, usableUntil } from '../../src/freshness.ts';
import { connectedRedis } from '../support/connected-redis.ts';
import { anEntry, asTheyAre } from '../support/entry.ts';

/** The common behaviour of both tiers. */
interface Tier {
  get(key: string): unknown;
  set(entry: Entry): unknown;
}

/** The parts of a tier that the suite needs: the tier and its clock. */
interface Subject {
  readonly tier: Tier;
  readonly clock: { now: number };
}

const connection = await connectedRedis(inject('redisUrl'));
afterAll(() => connection.close());

function memoryTier(): Subject {
  const clock = { now: Date.now() };
  const tier = new MemoryTier({ now: () => clock.now, maxSizeBytes: 256 * 1024 * 1024 });
  const get = (key: string) => {
    const entry = tier.get(key);
    return entry === undefined ? { state: 'absent' } : { state: 'found', entry };
  };
  return { tier: { get, set: (entry) => tier.set(entry) }, clock };
}

function redisTier(): Subject {
  const clock = { now: Date.now() };
  const tier = new RedisTier({
    connection,
    redisKey: redisKeyFor(`test:contract:${randomUUID()}:`),
    toStore: asTheyAre,
    provableMs: () => 0,
    now: () => clock.now,
    monotonic: () => performance.now(),
    report: () => {},
    budgetMs: 30_000,
    breaker: { faults: 3, openMs: 1000 },
    maxPendingWriteBytes: 256 * 1024 * 1024,
  });
  return { tier, clock };
}

describe.each([
  ['memory', memoryTier],
  ['Redis', redisTier],
])('the %s tier', (_, start) => {
  const keep = async ({ tier }: Subject, entry: Entry) => {
    await tier.set(entry);
  };

  test('keeps an entry until its stale windows are over', async () => {
    const subject = start();
    const entry = anEntry({ askedAt: subject.clock.now });
    await keep(subject, entry);
    subject.clock.now = usableUntil(entry) - 1;
    expect(await subject.tier.get(entry.key)).toMatchObject({ state: 'found', entry });
    subject.clock.now = usableUntil(entry);
    expect(await subject.tier.get(entry.key)).toMatchObject({ state: 'absent' });
  });

  test.each([
    ['for its retention after its stale windows', { afterUse: 10_000, sinceGiven: 600_000 }, 10_000],
    ['until the end of its retention, if that comes first', { afterUse: 10_000, sinceGiven: 125_000 }, 5000],
    [
      'only during its stale windows, if these are longer than its retention',
      { afterUse: 10_000, sinceGiven: 60_000 },
      0,
    ],
  ])('keeps an entry for comparison %s', async (_, retention, afterUseMs) => {
    const subject = start();
    const entry = anEntry({ askedAt: subject.clock.now, meta: { retention } });
    await keep(subject, entry);
    expect(keptUntil(entry)).toBe(usableUntil(entry) + afterUseMs);
    subject.clock.now = keptUntil(entry) - 1;
    expect(await subject.tier.get(entry.key)).toMatchObject({ state: 'found', entry });
    subject.clock.now = keptUntil(entry);
    expect(await subject.tier.get(entry.key)).toMatchObject({ state: 'absent' });
  });

  test('does not store an entry whose stale windows are over', async () => {
    const subject = start();
    const entry = anEntry({ askedAt: subject.clock.now });
    subject.clock.now = usableUntil(entry);
    await keep(subject, entry);
    subject.clock.now = entry.askedAt;
    expect(await subject.tier.get(entry.key)).toMatchObject({ state: 'absent' });
  });

  test.each([
    ['finds', 'requested', 1000, 'found'],
    ['does not find', 'requested', 1001, 'absent'],
    ['does not find', 'requested', 7_200_000, 'absent'],
    ['finds', 'extended', 1000, 'found'],
    ['does not find', 'extended', 1001, 'absent'],
  ])('%s an entry that was %s %i ms after now, because the clock was set back', async (_, last, byMs, state) => {
    const subject = start();
    const requested = anEntry({ askedAt: subject.clock.now });
    subject.clock.now += last === 'requested' ? 0 : 50_000;
    const entry = last === 'requested' ? requested : extended(requested, subject.clock.now);
    await keep(subject, entry);
    subject.clock.now -= byMs;
    expect(await subject.tier.get(entry.key)).toMatchObject({ state });
  });

  test('does not store an entry that was requested more than 1 s after now', async () => {
    const subject = start();
    const entry = anEntry({ askedAt: subject.clock.now + 1001 });
    await keep(subject, entry);
    expect(await subject.tier.get(entry.key)).toMatchObject({ state: 'absent' });
  });

  test('keeps the last value under each key, and nothing under other keys', async () => {
    const key = fc.oneof(fc.constantFrom('a', 'A', 'a ', 'a{b}', '{a}b', ''), fc.string({ unit: 'grapheme' }));
    const sets = fc.array(fc.record({ key, body: fc.uint8Array({ maxLength: 2000 }) }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(sets, fc.array(key), async (given, others) => {
        const subject = start();
        const expected = new Map<string, Entry>();
        for (const [index, { key, body }] of given.entries()) {
          const entry = anEntry({ key, body: Buffer.from(body), askedAt: subject.clock.now + index });
          expected.set(key, entry);
          await keep(subject, entry);
        }
        for (const key of [...expected.keys(), ...others]) {
          const entry = expected.get(key);
          expect(await subject.tier.get(key)).toMatchObject(entry ? { state: 'found', entry } : { state: 'absent' });
        }
      }),
      { numRuns: 50 },
    );
  });
});
