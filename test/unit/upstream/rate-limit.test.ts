import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RateLimit } from '../../../src/upstream/rate-limit.ts';
import type { SharedWindow } from '../../../src/upstream/rate-window.ts';
import { gaps, mostWithin } from '../../support/sliding-count.ts';

const RATES = [1, 10, 25, 1000] as const;
const BUDGET_MS = 50;
const REST_MS = 1000;
const FAULTS = 3;

const never = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Long enough to see the bounds, as far as turning the clock that often takes no minutes. */
function secondsFor(rate: number): number {
  return rate === 1000 ? 2.5 : 20;
}

function limit(perSecond: number, shared?: SharedWindow): RateLimit {
  return new RateLimit({ perSecond, shared, now: () => performance.now() });
}

/** Asks for so many turns at once; the instants of those that have come are in what it returns. */
function ask(subject: RateLimit, times: number): number[] {
  const turns: number[] = [];
  for (let time = 0; time < times; time++) void subject.take(never).then(() => turns.push(performance.now()));
  return turns;
}

/** Somebody waits at each of them all the time, for so long; the instants of all turns. */
async function saturate(fleet: readonly RateLimit[], ms: number): Promise<number[]> {
  const turns: number[] = [];
  let isOver = false;
  const keepAsking = async (subject: RateLimit) => {
    for (;;) {
      await subject.take(never);
      if (isOver) return;
      turns.push(performance.now());
    }
  };
  for (const subject of fleet) for (let asker = 0; asker < 64; asker++) void keepAsking(subject);
  await vi.advanceTimersByTimeAsync(ms);
  isOver = true;
  return turns;
}

/** The counter in Redis as the script keeps it, for several limits; `reply` delays or refuses what it answers. */
class FakeRedis {
  calls = 0;
  reply: <T>(answer: T) => Promise<T> = async (answer) => answer;
  readonly told: boolean[] = [];
  /** So many turns of each window are gone before anybody here asks. */
  othersTake = 0;
  #counter = { points: 0, until: 0 };

  get window(): SharedWindow {
    return {
      key: 'toncache:rate',
      runScript: async (_script, _keys, [points]) => {
        this.calls++;
        const now = performance.now();
        if (now >= this.#counter.until) this.#counter = { points: this.othersTake, until: now + 1000 };
        this.#counter.points += Number(points);
        return this.reply([this.#counter.points, Math.ceil(this.#counter.until - now)]);
      },
      budgetMs: BUDGET_MS,
      breaker: { faults: FAULTS, restMs: REST_MS },
      onShared: (shared) => this.told.push(shared),
    };
  }
}

const delayed =
  (ms: number): FakeRedis['reply'] =>
  (answer) =>
    new Promise((resolve) => void setTimeout(resolve, ms, answer));

describe.each(RATES)('a rate of %i a second', (rate) => {
  const seconds = secondsFor(rate);

  test('lets the first one go at once', async () => {
    const turns = ask(limit(rate), 1);
    await vi.advanceTimersByTimeAsync(0);
    expect(turns).toHaveLength(1);
  });

  test('is reached, and in no second exceeded by more than itself, nor in ten seconds by more than one of them', async () => {
    const turns = await saturate([limit(rate)], seconds * 1000);
    expect(turns.length).toBeGreaterThanOrEqual(0.95 * rate * seconds);
    expect(mostWithin(turns, 1000)).toBeLessThanOrEqual(2 * rate);
    expect(mostWithin(turns, 10_000)).toBeLessThanOrEqual(11 * rate);
  });

  test('comes in even steps', async () => {
    const turns = await saturate([limit(rate)], seconds * 1000);
    // Timers count in whole milliseconds, so that a step of one may be missed by two.
    const [shortest, longest] = [Math.min(...gaps(turns)), Math.max(...gaps(turns))];
    expect(shortest).toBeGreaterThanOrEqual(rate === 1000 ? 0 : 0.9 * (1000 / rate));
    expect(longest).toBeLessThanOrEqual(2 * (1000 / rate) + 2);
  });

  test('is not made up for after a time without need', async () => {
    const subject = limit(rate);
    const first = ask(subject, 1);
    await vi.advanceTimersByTimeAsync(950);
    const crowd = ask(subject, 2 * rate + 10);
    await vi.advanceTimersByTimeAsync(2500);
    expect(mostWithin([...first, ...crowd], 1000)).toBeLessThanOrEqual(1.1 * rate + 1);
  });
});

describe('those who wait', () => {
  test('are served in the order in which they came', async () => {
    const subject = limit(10);
    const served: number[] = [];
    for (let index = 0; index < 30; index++) void subject.take(never).then(() => served.push(index));
    await vi.advanceTimersByTimeAsync(4000);
    expect(served).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  test('move up when one before them leaves', async () => {
    const subject = limit(1);
    const leaving = new AbortController();
    ask(subject, 1);
    const left = subject.take(leaving.signal);
    const behind = ask(subject, 1);
    await vi.advanceTimersByTimeAsync(500);
    leaving.abort();
    expect(await left).toBe('abandoned');
    await vi.advanceTimersByTimeAsync(600);
    expect(behind).toHaveLength(1);
  });

  test('are told at once when they leave', async () => {
    const subject = limit(1);
    ask(subject, 10);
    const leaving = new AbortController();
    const left = subject.take(leaving.signal);
    leaving.abort();
    expect(await left).toBe('abandoned');
    expect(await subject.take(leaving.signal)).toBe('abandoned');
  });

  test('and leave after their turn change nothing', async () => {
    const subject = limit(10);
    const leaving = new AbortController();
    const first = subject.take(leaving.signal);
    expect(await first).toBe('go');
    leaving.abort();
    expect(await first).toBe('go');
    const turns = ask(subject, 10);
    await vi.advanceTimersByTimeAsync(1100);
    expect(turns).toHaveLength(10);
  });

  test('leave no listener behind on the signal of a long flight', async () => {
    const subject = limit(1000);
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, 'removeEventListener');
    for (let time = 0; time < 5; time++) {
      const turn = subject.take(signal);
      await vi.advanceTimersByTimeAsync(2);
      await turn;
    }
    expect(removed).toHaveBeenCalledTimes(5);
  });

  test('can be told how long it will take', async () => {
    const subject = limit(10);
    expect(subject.expectedWaitMs).toBe(0);
    ask(subject, 21);
    await vi.advanceTimersByTimeAsync(0);
    expect(subject.expectedWaitMs).toBe(2100);
    await vi.advanceTimersByTimeAsync(1000);
    expect(subject.expectedWaitMs).toBe(1100);
    await vi.advanceTimersByTimeAsync(5000);
    expect(subject.expectedWaitMs).toBe(0);
  });
});

test('a wall clock that is set back by an hour holds nobody up', async () => {
  const subject = limit(10);
  ask(subject, 5);
  await vi.advanceTimersByTimeAsync(450);
  vi.setSystemTime(Date.now() - 3_600_000);
  const turns = ask(subject, 20);
  await vi.advanceTimersByTimeAsync(5000);
  expect(turns).toHaveLength(20);
});

test('whoever comes and leaves when: the bounds hold, nobody overtakes, and all who stay get their turn', async () => {
  const arrival = fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.nat(100), fc.nat(1500)),
    leavesAfterMs: fc.option(fc.nat(2000), { nil: undefined }),
  });
  const rates = fc.constantFrom(1, 3, 10, 25, 1000);
  await fc.assert(
    fc.asyncProperty(rates, fc.array(arrival, { maxLength: 80 }), async (rate, arrivals) => {
      const subject = limit(rate);
      const served: { index: number; at: number }[] = [];
      const outcomes: Promise<'go' | 'abandoned'>[] = [];
      for (const [index, { afterMs, leavesAfterMs }] of arrivals.entries()) {
        await vi.advanceTimersByTimeAsync(afterMs);
        const leaving = new AbortController();
        if (leavesAfterMs !== undefined) setTimeout(() => leaving.abort(), leavesAfterMs);
        const taken = subject.take(leaving.signal);
        outcomes.push(taken);
        void taken.then((outcome) => outcome === 'go' && served.push({ index, at: performance.now() }));
      }
      await vi.advanceTimersByTimeAsync(90_000);
      const ended = await Promise.all(outcomes);
      const order = served.map(({ index }) => index);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      for (const [index, { leavesAfterMs }] of arrivals.entries()) {
        if (leavesAfterMs === undefined) expect(ended[index]).toBe('go');
      }
      const instants = served.map(({ at }) => at);
      expect(mostWithin(instants, 1000)).toBeLessThanOrEqual(2 * rate);
      expect(mostWithin(instants, 10_000)).toBeLessThanOrEqual(11 * rate);
    }),
    { numRuns: 150 },
  );
});

describe('with Redis', () => {
  test.each(RATES)('three instances share a rate of %i', async (rate) => {
    const redis = new FakeRedis();
    const fleet = [limit(rate, redis.window), limit(rate, redis.window), limit(rate, redis.window)];
    const turns = await saturate(fleet, secondsFor(rate) * 1000);
    expect(turns.length).toBeGreaterThanOrEqual(0.9 * rate * secondsFor(rate));
    expect(mostWithin(turns, 1000)).toBeLessThanOrEqual(2 * rate);
    expect(mostWithin(turns, 10_000)).toBeLessThanOrEqual(11 * rate);
  });

  test('their turns lie evenly in the second, whoever has them', async () => {
    const redis = new FakeRedis();
    const fleet = [limit(10, redis.window), limit(10, redis.window), limit(10, redis.window)];
    const turns = await saturate(fleet, 10_000);
    expect(mostWithin(turns, 300)).toBeLessThanOrEqual(5);
  });

  test.each([2, 5, 10])('each of %i instances can tell how long it will take', async (instances) => {
    const redis = new FakeRedis();
    const [subject = limit(10), ...others] = Array.from({ length: instances }, () => limit(10, redis.window));
    for (const other of others) ask(other, 1000);
    ask(subject, 30);
    await vi.advanceTimersByTimeAsync(4500);
    const told = subject.expectedWaitMs;
    const askedAt = performance.now();
    const turns = ask(subject, 1);
    await vi.advanceTimersByTimeAsync(60_000);
    const waited = (turns[0] ?? 0) - askedAt;
    expect(told).toBeGreaterThan(0.6 * waited);
    expect(told).toBeLessThan(1.7 * waited);
  });

  test('it takes no longer than it would alone when the others have gone', async () => {
    const redis = new FakeRedis();
    redis.othersTake = 8;
    const subject = limit(10, redis.window);
    ask(subject, 10);
    await vi.advanceTimersByTimeAsync(2100);
    expect(subject.expectedWaitMs).toBeGreaterThan(4 * 450);
    redis.othersTake = 0;
    await vi.advanceTimersByTimeAsync(4000);
    ask(subject, 11);
    await vi.advanceTimersByTimeAsync(0);
    expect(subject.expectedWaitMs).toBe(1100);
  });

  test('where others have all turns it takes seconds for each who waits, and nothing for who would be the first', async () => {
    const redis = new FakeRedis();
    redis.othersTake = 10;
    const subject = limit(10, redis.window);
    expect(subject.expectedWaitMs).toBe(0);
    const turns = ask(subject, 5);
    await vi.advanceTimersByTimeAsync(3500);
    expect(turns).toEqual([]);
    expect(subject.expectedWaitMs).toBeGreaterThanOrEqual(10_000);
    expect(subject.expectedWaitMs).toBeLessThanOrEqual(20_000);
    redis.othersTake = 0;
    await vi.advanceTimersByTimeAsync(3000);
    expect(turns).toHaveLength(5);
    expect(subject.expectedWaitMs).toBe(0);
  });

  test('that takes almost its budget the rate is reached all the same', async () => {
    const redis = new FakeRedis();
    redis.reply = delayed(BUDGET_MS - 10);
    expect((await saturate([limit(1000, redis.window)], 3000)).length).toBeGreaterThanOrEqual(2700);
    expect(redis.told).toEqual([]);
  });

  test('that does not answer a turn comes when the budget ends, counted here', async () => {
    const redis = new FakeRedis();
    redis.reply = delayed(60_000);
    const turns = ask(limit(10, redis.window), 1);
    await vi.advanceTimersByTimeAsync(BUDGET_MS - 1);
    expect(turns).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(2);
    expect(turns).toHaveLength(1);
  });

  test('that does not answer costs the budget a few times only, until it is tried again', async () => {
    const redis = new FakeRedis();
    redis.reply = delayed(60_000);
    const subject = limit(1000, redis.window);
    await saturate([subject], REST_MS);
    expect(redis.calls).toBe(FAULTS);
    expect(redis.told).toEqual([false]);
    redis.reply = async (answer) => answer;
    await saturate([subject], 2 * REST_MS);
    expect(redis.calls).toBeGreaterThan(FAULTS + 10);
    expect(redis.told).toEqual([false, true]);
  });

  test('that refuses every call is told of once, and the rate is kept here', async () => {
    const redis = new FakeRedis();
    redis.reply = () => Promise.reject(new Error('READONLY'));
    const turns = await saturate([limit(25, redis.window)], 20_000);
    expect(redis.told).toEqual([false]);
    expect(redis.calls).toBeLessThanOrEqual(FAULTS + 20);
    expect(turns.length).toBeGreaterThanOrEqual(0.95 * 25 * 20);
    expect(mostWithin(turns, 1000)).toBeLessThanOrEqual(2 * 25);
  });

  test('that comes and goes one instance stays within the bounds', async () => {
    const redis = new FakeRedis();
    redis.reply = (answer) =>
      performance.now() % 4000 < 2000 ? Promise.resolve(answer) : Promise.reject(new Error('not connected to Redis'));
    const turns = await saturate([limit(25, redis.window)], 20_000);
    expect(redis.told.length).toBeGreaterThan(2);
    expect(mostWithin(turns, 1000)).toBeLessThanOrEqual(2 * 25);
    expect(mostWithin(turns, 10_000)).toBeLessThanOrEqual(11 * 25);
  });
});
