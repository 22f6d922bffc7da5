import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Flight, type FlightWaiter, SingleFlight } from '../../../src/once/single-flight.ts';
import { type Arrival, type ExpectedFlight, type ExpectedWait, expectFlights } from './expected-flights.ts';

const COLLAPSE_WINDOW_MS = 1000;
const FAILURE_TTL_MS = 250;

beforeEach(() => vi.useFakeTimers());

afterEach(() => vi.useRealTimers());

// Each kind of event has its own last digit: events of different kinds never coincide, so their order is defined.
const LEAVES = 3;
const DEPARTS = 5;
const LANDS = 7;

const anArrival = fc
  .record({
    gap: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 130 })),
    key: fc.constantFrom('a', 'a', 'b'),
    patience: fc.oneof(fc.nat({ max: 30 }), fc.nat({ max: 400 })),
    queued: fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 200 })),
    flown: fc.oneof(fc.nat({ max: 30 }), fc.nat({ max: 250 })),
    failed: fc.boolean(),
  })
  .map((drawn) => ({ ...drawn, gap: drawn.gap * 10, patience: drawn.patience * 10, queued: drawn.queued * 10 }));

const someArrivals = fc.array(anArrival, { minLength: 1, maxLength: 25, size: 'max' }).map((drawn) => {
  let at = 0;
  return drawn.map(({ gap, key, patience, queued, flown, failed }): Arrival => {
    at += gap;
    const departsAt = at + queued + DEPARTS;
    return {
      at,
      key,
      leavesAt: at + patience + LEAVES,
      load: { departsAt, landsAt: departsAt - DEPARTS + flown * 10 + LANDS, failed },
    };
  });
});

/** A waiter that leaves when a signal is aborted. */
function leavingBy(signal: AbortSignal): FlightWaiter {
  const waiter: { reason: unknown; onEnd: (() => void) | undefined } = { reason: signal.reason, onEnd: undefined };
  signal.addEventListener('abort', () => {
    waiter.reason = signal.reason;
    waiter.onEnd?.();
  });
  return waiter;
}

/**
 * Lets the arrivals join a real single flight in simulated time; returns flights, waits, and arrivals with a kept key.
 */
async function fly(arrivals: readonly Arrival[]) {
  const startedAt = performance.now();
  const now = () => Math.round(performance.now() - startedAt);
  const single = new SingleFlight<{ leader: number; failed: boolean }>({
    onFollowed: () => {},
    keptMs: ({ failed }) => (failed ? FAILURE_TTL_MS : 0),
    now,
    collapseWindowMs: COLLAPSE_WINDOW_MS,
  });
  const flights: (ExpectedFlight & { cancelled: boolean })[] = [];
  const waits: (ExpectedWait & { collapsed: boolean })[] = [];

  const loadOf =
    (leader: number, { load }: Arrival) =>
    (flight: Flight) => {
      const { promise, resolve } = Promise.withResolvers<{ leader: number; failed: boolean }>();
      const flown = { leader, cancelled: false };
      flights.push(flown);
      const departing = setTimeout(() => flight.depart(), load.departsAt - now());
      const landing = setTimeout(() => resolve({ leader, failed: load.failed }), load.landsAt - now());
      flight.signal.addEventListener('abort', () => {
        flown.cancelled = true;
        clearTimeout(departing);
        clearTimeout(landing);
        resolve({ leader: Number.NaN, failed: false });
      });
      return promise;
    };
  arrivals.forEach((arrival, index) => {
    setTimeout(() => {
      const patience = new AbortController();
      setTimeout(() => patience.abort(), arrival.leavesAt - now());
      const wait = single.join(arrival.key, leavingBy(patience.signal), loadOf(index, arrival));
      const leader = flights.findLast((flight) => arrivals[flight.leader]?.key === arrival.key)?.leader ?? Number.NaN;
      void wait.then(({ state, collapsed }) => {
        waits[index] = { leader, state, settlesAt: now(), collapsed };
      });
    }, arrival.at);
  });
  await vi.runAllTimersAsync();
  return { flights, waits, kept: arrivals.filter(({ key }) => single.has(key)) };
}

test('any arrivals join, start and cancel flights exactly as the collapsing rules require, and every wait ends', async () => {
  await fc.assert(
    fc.asyncProperty(someArrivals, async (arrivals) => {
      const expected = expectFlights(arrivals, COLLAPSE_WINDOW_MS, FAILURE_TTL_MS);
      const { flights, waits, kept } = await fly(arrivals);
      expect(flights).toEqual(expected.flights);
      expect(waits).toEqual(
        expected.waits.map((wait, index) => ({ ...wait, collapsed: expected.waits[index]?.leader !== index })),
      );
      expect(kept).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test('two concurrent loads of one key begin at least a second apart', async () => {
  await fc.assert(
    fc.asyncProperty(someArrivals, async (arrivals) => {
      const { flights, waits } = await fly(arrivals);
      const spans = flights.map(({ leader, cancelled }) => {
        const { key = '', at = 0, load } = arrivals[leader] ?? {};
        const lastSettled = Math.max(...waits.filter((wait) => wait.leader === leader).map((wait) => wait.settlesAt));
        return { key, startsAt: at, endsAt: cancelled ? lastSettled : (load?.landsAt ?? 0) };
      });
      for (const [index, older] of spans.entries()) {
        for (const younger of spans.slice(index + 1).filter(({ key }) => key === older.key)) {
          if (younger.startsAt < older.endsAt)
            expect(younger.startsAt - older.startsAt).toBeGreaterThanOrEqual(COLLAPSE_WINDOW_MS);
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('notifies 1000 followers in batches of 256, so that hits are answered in between; one that has left gets no value', async () => {
  const single = new SingleFlight<string>({
    onFollowed: () => {},
    keptMs: () => 0,
    now: () => performance.now(),
    collapseWindowMs: COLLAPSE_WINDOW_MS,
  });
  const { promise, resolve } = Promise.withResolvers<string>();
  const join = (signal = new AbortController().signal) => single.join('k', leavingBy(signal), () => promise);
  let landed = 0;
  for (let follower = 0; follower < 1000; follower++) void join().then(() => landed++);
  expect(await join(AbortSignal.abort())).toEqual({ state: 'left', departed: false, collapsed: true });
  resolve('x');
  for (let tick = 0; tick < 10; tick++) await Promise.resolve();
  expect(landed).toBe(256);
  await vi.runAllTimersAsync();
  expect(landed).toBe(1000);
});
