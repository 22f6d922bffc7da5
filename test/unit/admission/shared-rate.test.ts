import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RateLimit, type Reserved } from '../../../src/admission/rate-limit.ts';
import { sharedReservations } from '../../../src/admission/shared-reservations.ts';
import { ask, Reservations } from '../../support/reservations.ts';
import { mostWithin } from '../../support/sliding-count.ts';
import { simulatedReservations } from './simulated-redis.ts';

const PATIENCE_MS = 60_000;
const now = () => performance.now();
const run = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a rate that instances share', () => {
  const reserve = vi.fn<() => Promise<Reserved | undefined>>();
  const shared = (longestWaitMs = PATIENCE_MS) =>
    new RateLimit({ reserveShared: reserve, now, perSecond: 10, longestWaitMs });

  beforeEach(() => void reserve.mockReset());

  test('uses the reservations made in Redis, and makes its own ones when Redis fails', async () => {
    reserve.mockResolvedValueOnce({ state: 'reserved', waitMs: 0 });
    reserve.mockResolvedValueOnce({ state: 'reserved', waitMs: 730.5 });
    reserve.mockResolvedValue(undefined);
    const turns = ask(shared(), 4);
    await run(PATIENCE_MS);
    expect(turns.map((at) => at - (turns[0] ?? 0))).toEqual([0, 731, 831, 931]);
    expect(reserve).toHaveBeenCalledWith(100, PATIENCE_MS, 0);
  });

  test('reports the wait if the next reservation is too far away, and tries again when one may be near enough', async () => {
    reserve.mockResolvedValueOnce({ state: 'too-long', waitMs: 2000 });
    reserve.mockResolvedValueOnce({ state: 'reserved', waitMs: 1500 });
    const subject = shared(1500);
    const turns = ask(subject, 1);
    await run(0);
    expect([subject.expectedWaitMs(0), subject.isHere]).toEqual([2000, false]);
    await run(499);
    expect([subject.expectedWaitMs(0), reserve.mock.calls.length]).toEqual([1501, 1]);
    await run(1);
    expect([subject.expectedWaitMs(0), reserve.mock.calls.length]).toEqual([1500, 2]);
    await run(1500);
    expect([turns.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test('counts the reservations of other instances in the expected wait', async () => {
    reserve.mockResolvedValueOnce({ state: 'reserved', waitMs: 0 });
    reserve.mockResolvedValueOnce({ state: 'reserved', waitMs: 200 });
    const subject = shared();
    ask(subject, 2);
    await run(0);
    expect([subject.expectedWaitMs(0), subject.expectedWaitMs(2)]).toEqual([200, 600]);
  });

  test('reports a wait by the mean step if another instance makes several reservations in a row', async () => {
    let nextAt = 0;
    let turns = 0;
    const reserveShared = async (): Promise<Reserved> => {
      nextAt = Math.max(nextAt, now()) + (turns++ % 4 === 0 ? 90 : 10);
      return { state: 'reserved', waitMs: nextAt - now() };
    };
    const subject = new RateLimit({ reserveShared, now, perSecond: 100, longestWaitMs: PATIENCE_MS });
    ask(subject, 1000);
    // The mean step is 30 ms: one of 90 ms, then three of 10 ms.
    await run(1000);
    for (let step = 0; step < 20; step++) {
      await run(10);
      expect(subject.expectedWaitMs(10)).toBeLessThanOrEqual(100 + 10 * 40);
    }
  });

  test('makes one reservation at a time, and none while no request waits', async () => {
    reserve.mockResolvedValue({ state: 'reserved', waitMs: 100 });
    const subject = shared();
    const leaving = new AbortController();
    const turns = ask(subject, 20, leaving.signal);
    await run(250);
    expect([turns.length, reserve.mock.calls.length]).toEqual([2, 3]);
    leaving.abort();
    await run(5000);
    expect([turns.length, reserve.mock.calls.length, subject.isHere]).toEqual([2, 3, false]);
  });

  test('gives a free reservation to a request that does not wait, unless another request waits', async () => {
    reserve.mockResolvedValueOnce({ state: 'reserved', waitMs: 0 });
    reserve.mockResolvedValueOnce({ state: 'too-long', waitMs: 70 });
    const subject = shared();
    expect([await subject.take(), await subject.take()]).toEqual([true, false]);
    expect(reserve).toHaveBeenLastCalledWith(100, 0, 0);
    reserve.mockResolvedValueOnce({ state: 'reserved', waitMs: 100 });
    const turns = ask(subject, 1);
    await run(10);
    expect([subject.mayBeFree, reserve.mock.calls.length]).toEqual([false, 3]);
    await run(90);
    expect(turns).toHaveLength(1);
  });

  test.each([10, 50, 100, 200])('of %i a second is used equally by two instances, and never exceeded', async (rate) => {
    const reserveShared = simulatedReservations(1);
    const subjects = [1, 2].map(() => new RateLimit({ reserveShared, now, perSecond: rate, longestWaitMs: 1500 }));
    const turns = subjects.map((subject) => ask(subject, 10_000));
    await run(10_000);
    const all = turns.flat();
    expect(all.length).toBeGreaterThanOrEqual(0.95 * rate * 10);
    expect(mostWithin(all, 1000)).toBeLessThanOrEqual(rate + 1);
    const [one = 0, other = 0] = turns.map(({ length }) => length);
    expect(Math.abs(one - other)).toBeLessThanOrEqual(1);
  });
});

describe('with a round trip of 10 ms to Redis', () => {
  const [PER_SECOND, STEP_MS, ROUND_TRIP_MS] = [300, 1000 / 300, 10];
  const distant = (reserveShared = simulatedReservations(ROUND_TRIP_MS / 2)) =>
    new RateLimit({ reserveShared, now, perSecond: PER_SECOND, longestWaitMs: 1500 });

  test.each([1, 2, 3])('%i instances use the rate, get equal parts of it, and do not exceed it', async (instances) => {
    const reserveShared = simulatedReservations(ROUND_TRIP_MS / 2);
    const turns = Array.from({ length: instances }, () => ask(distant(reserveShared), 10_000));
    await run(5000);
    const all = turns.flat();
    expect(all.length).toBeGreaterThanOrEqual(0.97 * PER_SECOND * 5);
    expect(mostWithin(all, 1000)).toBeLessThanOrEqual(1.01 * PER_SECOND + 1);
    const counts = turns.map(({ length }) => length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(0.02 * all.length);
  });

  test('Redis answers that take 10 to 30 ms cost waiting requests hardly any reservations', async () => {
    const reserveShared = simulatedReservations(ROUND_TRIP_MS / 2);
    let [calls, answeredAt] = [0, 0];
    const uneven: typeof reserveShared = async (...asked) => {
      const reserved = await reserveShared(...asked);
      // Answers arrive in order, as on one connection.
      answeredAt = Math.max(answeredAt, now() + ((calls++ * 7919) % 97 < 12 ? 20 : 0));
      await new Promise((resolve) => setTimeout(resolve, answeredAt - now()));
      return reserved;
    };
    const turns = ask(distant(uneven), 10_000);
    await run(5000);
    expect(turns.length).toBeGreaterThanOrEqual(0.98 * PER_SECOND * 5);
    expect(mostWithin(turns, 1000)).toBeLessThanOrEqual(1.1 * PER_SECOND);
  });

  test('an instance whose requests wait one at a time makes one reservation for each request', async () => {
    const reserve = vi.fn(simulatedReservations(ROUND_TRIP_MS / 2));
    const turns = new Reservations(distant(reserve));
    for (let n = 0; n < 50; n++) {
      const taken = turns.take();
      await run(20);
      expect(await taken).toBe(true);
    }
    expect(reserve).toHaveBeenCalledTimes(50);
  });

  test('when all requests of one instance leave, another gets a reservation within two round trips and two steps', async () => {
    const reserve = vi.fn(simulatedReservations(ROUND_TRIP_MS / 2));
    const leaving = new AbortController();
    ask(distant(reserve), 1000, leaving.signal);
    await run(1000);
    leaving.abort();
    const reserved = reserve.mock.calls.length;
    const turns = ask(distant(reserve), 1);
    await run(1000);
    expect(turns[0]).toBeLessThanOrEqual(1000 + 2 * ROUND_TRIP_MS + 2 * STEP_MS);
    expect(reserve).toHaveBeenCalledTimes(reserved + 1);
  });
});

test('one instance keeps its steps even if Redis always offers an immediate reservation', async () => {
  const reserveShared = async (): Promise<Reserved> => ({ state: 'reserved', waitMs: 0 });
  const turns = ask(new RateLimit({ reserveShared, now, perSecond: 100, longestWaitMs: 1500 }), 1000);
  await run(1000);
  expect(turns.length).toBeGreaterThan(95);
  expect(mostWithin(turns, 1000)).toBeLessThanOrEqual(101);
});

test.each([undefined, null, 'OK', [], [1], [1, 'soon'], {}])(
  'a Redis reply without a reservation counts as a failure: %j',
  async (reply) => {
    const runScript = async () => reply;
    const reserve = sharedReservations({
      runScript,
      call: (run) => run().catch(() => 'failed'),
      key: 'rate',
      furthestMs: 2000,
    });
    expect(await reserve(1, 1500, 0)).toBeUndefined();
  },
);
