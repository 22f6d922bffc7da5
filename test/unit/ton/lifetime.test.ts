import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Freshness, freshnessOf, usableUntil } from '../../../src/freshness.ts';
import type { Finality } from '../../../src/ton/finality.ts';
import { lifetimeOf } from '../../../src/ton/lifetime.ts';
import { type GrowingRule, type LifetimeRule, POLICIES, ROWS } from '../../../src/ton/lifetime-table.ts';
import { anEntry } from '../../support/entry.ts';

const ASKED_AT = 1_780_000_000_000;
const RECEIVED_AT = ASKED_AT + 300;
/** The chain time equals our clock at the time of the request. */
const instants = { askedAt: ASKED_AT, receivedAt: RECEIVED_AT, chainAt: ASKED_AT, ageValueSeconds: 0 };
const never = () => 0;

/** The windows of an answer, each as a duration from its own start. Without `random` there is no jitter. */
function windowsOf(finality: Finality, chainAt: number | undefined = ASKED_AT, random: () => number = never) {
  const lifetime = lifetimeOf(finality, POLICIES, { ...instants, chainAt }, random);
  return {
    lifetime: lifetime.freshUntil - RECEIVED_AT,
    staleWhileRevalidate: lifetime.staleWhileRevalidate,
    staleIfError: lifetime.staleIfError,
    maxAgeSeconds: lifetime.maxAgeSeconds,
  };
}

type WithoutLifetime = 'notKept' | 'methodResult';
type FixedRule = Exclude<LifetimeRule, GrowingRule | WithoutLifetime>;
const FIXED = Object.keys(ROWS).filter(
  (rule) => !['notKept', 'methodResult'].includes(rule) && !rule.endsWith('Growing'),
) as FixedRule[];
const growing = (ageMs: number): Finality => ({
  rule: 'adjacentGrowing',
  newestNow: (ASKED_AT - ageMs) / 1000,
});

describe('a growing answer', () => {
  const at = (ageMs: number, chainAt = ASKED_AT) => windowsOf(growing(ageMs), chainAt);

  test('has the shortest lifetime if the chain time or the time of its newest row is unknown', () => {
    const unknown = lifetimeOf(growing(1e9), POLICIES, { ...instants, chainAt: undefined }, never);
    expect(unknown.freshUntil - RECEIVED_AT).toBe(1000);
    expect(windowsOf({ rule: 'adjacentGrowing' }).lifetime).toBe(1000);
  });

  test('has a lifetime that never falls as the answer gets older', () => {
    const ageMs = fc.integer({ min: -100_000, max: 100_000_000 });
    fc.assert(
      fc.property(ageMs, fc.nat(10_000_000), (age, more) => {
        expect(at(age + more).lifetime).toBeGreaterThanOrEqual(at(age).lifetime);
        expect(at(age).lifetime).toBeLessThanOrEqual(Math.max(1000, age / 10));
      }),
    );
  });
});

describe('an answer that other caches have stored', () => {
  const seconds = fc.nat(2 ** 31);
  const finality = fc.oneof(
    fc.constantFrom(...FIXED).map((rule): Finality => ({ rule })),
    fc.integer({ min: -1e6, max: 1e9 }).map(growing),
  );

  test("has the rest of its rule's lifetime, and at least 1 s unless the whole lifetime is shorter", () => {
    fc.assert(
      fc.property(finality, seconds, (given, ageValueSeconds) => {
        const whole = lifetimeOf(given, POLICIES, instants, never);
        const shortened = lifetimeOf(given, POLICIES, { ...instants, ageValueSeconds }, never);
        expect(shortened.lifetime).toBe(
          Math.max(Math.min(whole.lifetime, 1000), whole.lifetime - ageValueSeconds * 1000),
        );
        expect(shortened.freshUntil).toBe(RECEIVED_AT + shortened.lifetime);
        expect(shortened.askedAt).toBe(ASKED_AT);
        expect(shortened.staleWhileRevalidate).toBe(Math.min(whole.staleWhileRevalidate, shortened.lifetime));
        expect(shortened.staleIfError).toBe(whole.staleIfError);
        expect(shortened.maxAgeSeconds).toBe(Math.min(Math.floor(shortened.lifetime / 1000), whole.maxAgeSeconds));
      }),
    );
  });
});

describe('jitter', () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  const any = fc.oneof(
    fc.constantFrom(...FIXED).map((rule): Finality => ({ rule })),
    fc.integer({ min: 0, max: 50_000_000 }).map(growing),
  );

  test('shortens lifetimes of 10 s and more by the random part of a tenth, and no shorter one', () => {
    fc.assert(
      fc.property(any, random, (finality, value) => {
        const whole = windowsOf(finality).lifetime;
        const { lifetime } = windowsOf(finality, undefined, () => value);
        expect(whole - lifetime).toBe(whole >= 10_000 ? Math.floor(value * 0.1 * whole) : 0);
      }),
    );
  });
});

describe('the instants of any answer', () => {
  const finality: fc.Arbitrary<Finality> = fc.oneof(
    fc.constantFrom(...FIXED).map((rule) => ({ rule })),
    fc.integer({ min: -1e6, max: 1e9 }).map(growing),
  );
  const lifetimes = fc
    .tuple(finality, fc.double({ min: 0, max: 1, noNaN: true }), fc.option(fc.integer(), { nil: undefined }))
    .map(([classified, jitter, skew]) => {
      const chainAt = skew === undefined ? undefined : ASKED_AT + skew;
      return lifetimeOf(classified, POLICIES, { ...instants, chainAt }, () => jitter);
    });
  const ORDER: readonly Freshness[] = ['fresh', 'stale-while-revalidate', 'stale-if-error', 'expired'];

  test('move an answer only forward, from fresh to expired', () => {
    const afterMs = fc.integer({ min: 0, max: 60 * 3_600_000 });
    fc.assert(
      fc.property(lifetimes, afterMs, afterMs, (lifetime, one, other) => {
        const entry = anEntry(lifetime);
        const at = (ms: number) => ORDER.indexOf(freshnessOf(entry, RECEIVED_AT + ms));
        expect(at(0)).toBe(0);
        expect(at(Math.max(one, other))).toBeGreaterThanOrEqual(at(Math.min(one, other)));
        expect(freshnessOf(entry, usableUntil(entry))).toBe('expired');
      }),
    );
  });

  test('give a positive lifetime, stale windows that are not negative, and a max-age within the lifetime', () => {
    fc.assert(
      fc.property(lifetimes, (lifetime) => {
        const freshMs = lifetime.freshUntil - RECEIVED_AT;
        expect(freshMs).toBeGreaterThan(0);
        expect(lifetime.maxAgeSeconds * 1000).toBeLessThanOrEqual(freshMs);
        expect(lifetime.staleWhileRevalidate).toBeGreaterThanOrEqual(0);
        expect(lifetime.staleIfError).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
