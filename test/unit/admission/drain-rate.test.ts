import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DrainRate } from '../../../src/admission/drain-rate.ts';
import { drainRateOf } from '../../support/drain-rate-of.ts';

const PATIENCE_MS = 1500;

/** A backlog that began at 0, with a start at each of these milliseconds. */
function startedAt(instants: Iterable<number>): DrainRate {
  const drain = new DrainRate({ slots: 16 });
  drain.begin(0);
  for (const at of instants) drain.add(at);
  return drain;
}

/** Starts of so many a second, from `fromMs` on for so long. */
function* steady(perSecond: number, fromMs: number, forMs: number): Iterable<number> {
  for (let n = 1; n <= (perSecond * forMs) / 1000; n++) yield fromMs + (n * 1000) / perSecond;
}

/** Starts a second, rounded. */
function perSecond(drain: DrainRate, now: number): number | undefined {
  const perMs = drain.perMs(now, PATIENCE_MS);
  return perMs === undefined ? undefined : Math.round(perMs * 1000);
}

describe('the drain rate is not known', () => {
  test('in the first 100 ms after its first start, however many requests start: the first answers come in clumps', () => {
    const drain = startedAt(steady(1000, 0, 99));
    expect(perSecond(drain, 100)).toBeUndefined();
    expect(perSecond(drain, 101)).toBe(980);
  });

  test('for as much longer as the first start took: connections are opened, and code is cold', () => {
    const drain = startedAt(steady(1000, 150, 99));
    expect(perSecond(drain, 250)).toBeUndefined();
    expect(perSecond(drain, 251)).toBe(394);
  });

  test.each([
    [64, 48],
    [4, 16],
    [10_000, 1024],
  ])('with %i slots before %i starts: they come in clumps', (slots, starts) => {
    const drain = new DrainRate({ slots });
    drain.begin(0);
    for (let n = 1; n < starts; n++) drain.add(n);
    expect(perSecond(drain, 1200)).toBeUndefined();
    drain.add(1200);
    expect(perSecond(drain, 1200)).toBeDefined();
  });

  test('before 16 starts', () => {
    const drain = startedAt(steady(15, 0, 1000));
    expect(perSecond(drain, 1100)).toBeUndefined();
    drain.add(1100);
    expect(perSecond(drain, 1200)).toBe(14);
  });

  test('of a backlog that has just formed again', () => {
    const drain = startedAt(steady(1000, 0, 2000));
    drain.begin(2000);
    expect(perSecond(drain, 2000)).toBeUndefined();
    expect(perSecond(drain, 3499)).toBeUndefined();
  });
});

describe('a backlog as old as the patience has a known drain rate', () => {
  test.each([0, 1, 15])('with %i starts', (starts) => {
    const drain = startedAt(Array.from({ length: starts }, (_, index) => index));
    expect(drain.perMs(PATIENCE_MS - 1, PATIENCE_MS)).toBeUndefined();
    expect(drain.perMs(PATIENCE_MS, PATIENCE_MS)).toBe(starts / PATIENCE_MS);
  });
});

describe('the drain rate', () => {
  test.each([2, 20, 400, 1000, 5000, 20_000])('is measured correctly: %i a second', (rate) => {
    const measured = perSecond(startedAt(steady(rate, 0, 20_000)), 20_000) ?? 0;
    expect(measured / rate).toBeGreaterThan(0.95);
    expect(measured / rate).toBeLessThan(1.1);
  });

  test('follows a change within a second', () => {
    const drain = startedAt([...steady(1000, 0, 3000), ...steady(100, 3000, 1001)]);
    expect(perSecond(drain, 4001)).toBeLessThanOrEqual(101);
    for (const at of steady(2000, 4001, 1001)) drain.add(at);
    expect(perSecond(drain, 5002)).toBeGreaterThanOrEqual(1990);
  });

  test('falls while nothing starts: it is 16 / (now - the 16th newest start)', () => {
    const drain = startedAt(steady(1000, 0, 3000));
    expect(perSecond(drain, 3500)).toBe(501);
    expect(perSecond(drain, 5000)).toBe(8);
    expect(perSecond(drain, 19_000)).toBe(1);
  });

  test('looks back at most a second once there are 16 starts: an earlier stall does not count', () => {
    const drain = startedAt(steady(1000, 10_000, 500));
    expect(perSecond(drain, 10_500)).toBe(500);
  });

  test('of many starts within one millisecond admits all, and falls from then on', () => {
    const drain = startedAt([500, ...Array.from({ length: 5000 }, () => 1000)]);
    expect(perSecond(drain, 1000)).toBe(Number.POSITIVE_INFINITY);
    expect(perSecond(drain, 1500)).toBe(2048);
  });

  test('is not computed over the few milliseconds of a clump of starts after a stall', () => {
    const drain = startedAt([...steady(10, 0, 1000), ...Array.from({ length: 64 }, () => 5000)]);
    expect(perSecond(drain, 5000)).toBe(64);
  });
});

test('whatever starts when, the rate is starts in the window / (now - start of the window)', () => {
  const gap = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 3000 }));
  fc.assert(
    fc.property(fc.array(gap, { maxLength: 300, size: 'max' }), fc.nat(3000), (gaps, silenceMs) => {
      let now = 0;
      const instants = gaps.map((ms) => {
        now += ms;
        return now;
      });
      const drain = new DrainRate({ slots: 16 });
      drain.begin(0);
      const model: number[] = [];
      for (const at of instants) {
        drain.add(at);
        model.push(at);
        expect(drain.perMs(at, PATIENCE_MS)).toBe(drainRateOf(model, { beganAt: 0, now: at, patienceMs: PATIENCE_MS }));
      }
      now += silenceMs;
      expect(drain.perMs(now, PATIENCE_MS)).toBe(drainRateOf(model, { beganAt: 0, now, patienceMs: PATIENCE_MS }));
    }),
  );
});
