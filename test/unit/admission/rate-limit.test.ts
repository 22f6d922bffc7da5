import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RateLimit } from '../../../src/admission/rate-limit.ts';
import { ask, Reservations } from '../../support/reservations.ts';
import { gaps, mostWithin } from '../../support/sliding-count.ts';

const RATES = [1, 10, 25, 1000] as const;
const PATIENCE_MS = 60_000;
/** Timers count in whole milliseconds. */
const TIMER_MS = 1;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const now = () => performance.now();
const limit = (perSecond: number) => new RateLimit({ now, perSecond, longestWaitMs: PATIENCE_MS });

const run = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** Keeps requests waiting for `ms`; returns the instants at which they got reservations. */
async function saturate(subject: RateLimit, ms: number): Promise<number[]> {
  const at = ask(subject, 10_000);
  await run(ms);
  return at;
}

describe.each(RATES)('a rate of %i a second', (rate) => {
  const seconds = rate === 1000 ? 2 : 20;
  const stepMs = 1000 / rate;

  test('is reached in even steps, and never exceeded', async () => {
    const turns = await saturate(limit(rate), seconds * 1000);
    expect(turns.length).toBeGreaterThanOrEqual(0.99 * rate * seconds);
    expect(Math.min(...gaps(turns))).toBeGreaterThanOrEqual(stepMs - TIMER_MS);
    expect(Math.max(...gaps(turns))).toBeLessThanOrEqual(stepMs + TIMER_MS);
    expect(mostWithin(turns, 1000)).toBeLessThanOrEqual(rate + 1);
  });
});

test.each([10, 50, 100, 200])(
  'timers that fire 1 to 15 ms after their time hardly reduce a rate of %i a second',
  async (rate) => {
    const { setTimeout: onTime } = globalThis;
    let timers = 0;
    vi.stubGlobal('setTimeout', (fire: () => void, ms: number) => onTime(fire, ms + 1 + ((timers++ * 7) % 15)));
    const turns = await saturate(limit(rate), 10_000);
    vi.unstubAllGlobals();
    expect(turns.length).toBeGreaterThanOrEqual(0.95 * rate * 10);
    expect(mostWithin(turns, 1000)).toBeLessThanOrEqual((1000 + 15) * (rate / 1000) + 1);
  },
);

test('unused reservations are lost, so steps stay even', async () => {
  const subject = limit(100);
  ask(subject, 1);
  await run(105);
  const turns = ask(subject, 5);
  await run(100);
  expect(Math.min(...gaps(turns))).toBeGreaterThanOrEqual(10 - TIMER_MS);
});

describe('waiting requests', () => {
  test('get the expected wait for each number of requests ahead', async () => {
    const subject = limit(10);
    expect([subject.expectedWaitMs(0), subject.expectedWaitMs(3)]).toEqual([0, 300]);
    const turns = ask(subject, 2);
    await run(0);
    expect([turns.length, subject.expectedWaitMs(0), subject.expectedWaitMs(3)]).toEqual([1, 100, 400]);
    await run(70);
    expect([turns.length, subject.expectedWaitMs(1)]).toEqual([1, 130]);
    await run(5000);
    expect([turns.length, subject.expectedWaitMs(0)]).toEqual([2, 0]);
  });

  test('that leave cost nothing: the next request gets the next reservation', async () => {
    const subject = limit(10);
    const leaving = new AbortController();
    const left = ask(subject, 50, leaving.signal);
    await run(30);
    leaving.abort();
    const turns = ask(subject, 3);
    await run(1000);
    expect(left).toHaveLength(1);
    expect(turns.map((at) => at - (left[0] ?? 0))).toEqual([100, 200, 300]);
  });
});

describe('a reservation that was taken and is given back', () => {
  test('can be taken again immediately, and counts once', async () => {
    const subject = limit(10);
    void subject.take();
    subject.giveBack();
    expect(subject.isHere).toBe(true);
    void subject.take();
    expect([subject.isHere, subject.expectedWaitMs(0)]).toEqual([false, 100]);
  });

  test('is lost after 20 ms if no request takes it', async () => {
    const subject = limit(10);
    void subject.take();
    subject.giveBack();
    await run(20);
    expect([subject.isHere, subject.expectedWaitMs(0)]).toEqual([false, 80]);
  });
});

describe('a head poll, or a request that is repeated on a new connection', () => {
  test('takes the next reservation, ahead of waiters and after earlier callers', async () => {
    const subject = limit(10);
    const turns = ask(subject, 3);
    const next: [name: string, at: number][] = [];
    await run(50);
    for (const name of ['first', 'second']) {
      void subject.takeNext().then((taken) => taken && next.push([name, performance.now() - (turns[0] ?? 0)]));
    }
    expect(subject.expectedWaitMs(2)).toBe(50 + 400);
    await run(1000);
    expect(turns.map((at) => at - (turns[0] ?? 0))).toEqual([0, 300, 400]);
    expect(next).toEqual([
      ['first', 100],
      ['second', 200],
    ]);
  });

  test('that is no longer needed when its reservation comes leaves it to waiting requests', async () => {
    const subject = limit(10);
    const turns = ask(subject, 2);
    let isWanted = true;
    const taken = subject.takeNext(() => isWanted);
    isWanted = false;
    await run(1000);
    expect([turns.map((at) => at - (turns[0] ?? 0)), await taken]).toEqual([[0, 100], false]);
  });

  test('takes a reservation immediately if one is free', async () => {
    const subject = limit(10);
    expect(await subject.takeNext()).toBe(true);
    expect(subject.isHere).toBe(false);
  });
});

test('for any arrivals and departures, rate and order are kept, and no reservation is lost while a request waits', async () => {
  const arrival = fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.nat(100), fc.nat(1500)),
    leavesAfterMs: fc.option(fc.nat(2000), { nil: undefined }),
    givesBack: fc.boolean(),
  });
  const rates = fc.constantFrom(1, 3, 10, 25, 1000);
  await fc.assert(
    fc.asyncProperty(rates, fc.array(arrival, { maxLength: 60 }), async (rate, arrivals) => {
      const subject = limit(rate);
      const turns = new Reservations(subject);
      const served: { index: number; at: number; usable: number; isUsed: boolean }[] = [];
      const leftAt: number[] = [];
      const comeAt: number[] = [];
      for (const [index, { afterMs, leavesAfterMs, givesBack }] of arrivals.entries()) {
        await run(afterMs);
        comeAt.push(performance.now());
        const leaving = new AbortController();
        if (leavesAfterMs !== undefined) setTimeout(() => leaving.abort(), leavesAfterMs);
        leftAt.push(leavesAfterMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + leavesAfterMs);
        void turns.take(leaving.signal).then((taken) => {
          if (!taken) return;
          const at = performance.now();
          served.push({ index, at, usable: comeAt[index] ?? 0, isUsed: !givesBack });
          if (!givesBack) return;
          subject.giveBack();
          turns.handOut();
        });
      }
      await run(70_000);
      const order = served.map(({ index }) => index);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      for (const [index, until] of leftAt.entries()) {
        if (!order.includes(index)) expect(until).toBeLessThan(Number.POSITIVE_INFINITY);
      }
      const used = served.filter(({ isUsed }) => isUsed);
      expect(
        mostWithin(
          used.map(({ at }) => at),
          1000,
        ),
      ).toBeLessThanOrEqual(rate + 1);
      for (const [place, { at, usable }] of served.entries()) {
        // Each request got its reservation as soon as it had arrived and the rate allowed it.
        const before = served[place - 1]?.at ?? Number.NEGATIVE_INFINITY;
        expect(at - Math.max(usable, before + 1000 / rate)).toBeLessThanOrEqual(2 * TIMER_MS);
      }
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 100 },
  );
});
