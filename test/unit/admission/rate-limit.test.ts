import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Refusal } from '../../../src/admission/guard.ts';
import { RateLimit, type Reserved, sharedTurns } from '../../../src/admission/rate-limit.ts';
import { sentFor } from '../../support/sent-for.ts';
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

const limit = (perSecond: number) => new RateLimit({ now: () => performance.now(), perSecond });

/** Asks for so many slots at once; the instants of those that have come are in what it returns. */
function ask(subject: RateLimit, times: number): number[] {
  const slots: number[] = [];
  for (let n = 0; n < times; n++) {
    void subject.take(PATIENCE_MS).then((taken) => taken === 'go' && slots.push(performance.now()));
  }
  return slots;
}

const run = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** There is always a waiting request, for so long; returns the instants of all slots. */
async function saturate(subject: RateLimit, ms: number): Promise<number[]> {
  const slots: number[] = [];
  let isOver = false;
  const keepAsking = async () => {
    for (;;) {
      await subject.take(PATIENCE_MS);
      if (isOver) return;
      slots.push(performance.now());
    }
  };
  for (let asker = 0; asker < 20; asker++) void keepAsking();
  await run(ms);
  isOver = true;
  return slots;
}

describe.each(RATES)('a rate of %i a second', (rate) => {
  const seconds = rate === 1000 ? 2 : 20;
  const stepMs = 1000 / rate;

  test('is reached in even steps, and never exceeded', async () => {
    const slots = await saturate(limit(rate), seconds * 1000);
    expect(slots.length).toBeGreaterThanOrEqual(0.99 * rate * seconds);
    expect(Math.min(...gaps(slots))).toBeGreaterThanOrEqual(stepMs - TIMER_MS);
    expect(Math.max(...gaps(slots))).toBeLessThanOrEqual(stepMs + TIMER_MS);
    expect(mostWithin(slots, 1000)).toBeLessThanOrEqual(rate + 1);
  });
});

describe('waiting requests', () => {
  test('can learn how long they will wait', async () => {
    const subject = limit(10);
    expect([subject.expectedWaitMs(0), subject.expectedWaitMs(3)]).toEqual([0, 300]);
    ask(subject, 21);
    await run(0);
    expect([subject.expectedWaitMs(0), subject.expectedWaitMs(3)]).toEqual([2100, 2400]);
    await run(1000);
    expect(subject.expectedWaitMs(0)).toBe(1100);
    await run(5000);
    expect(subject.expectedWaitMs(0)).toBe(0);
  });
});

describe('a rate that instances share', () => {
  const reserve = vi.fn<() => Promise<Reserved | undefined>>();
  const shared = () => new RateLimit({ reserveShared: reserve, now: () => performance.now(), perSecond: 10 });

  test('gives the turns that are reserved for it, until that fails', async () => {
    reserve.mockResolvedValueOnce({ state: 'reserved', waitMs: 0 });
    reserve.mockResolvedValueOnce({ state: 'reserved', waitMs: 730.5 });
    reserve.mockResolvedValue(undefined);
    const turns = ask(shared(), 4);
    await run(PATIENCE_MS);
    expect(turns.map((at) => at - (turns[0] ?? 0))).toEqual([0, 731, 831, 931]);
    expect(reserve).toHaveBeenCalledWith(100, PATIENCE_MS);
  });

  test('tells a request that would wait too long how long that is, and the next ones too', async () => {
    reserve.mockResolvedValue({ state: 'too-long', waitMs: 2000 });
    const subject = shared();
    expect(await subject.take(1500)).toEqual({ reason: 'rate-limit', retryAfterMs: 2000 });
    expect(subject.expectedWaitMs(0)).toBe(2000);
    await run(500);
    expect(subject.expectedWaitMs(2)).toBe(1500 + 200);
  });
});

test.each([undefined, null, 'OK', [], [1], [1, 'soon'], {}])(
  'a reply of Redis that holds no turn is a failure: %j',
  async (reply) => {
    const runScript = async () => reply;
    const reserve = sharedTurns({ runScript, call: (run) => run().catch(() => 'failed'), key: 'toncache:rate' });
    expect(await reserve(1, 1500)).toBeUndefined();
  },
);

test('whatever comes and leaves when, the rate and the order are kept, and all who stay get a slot or a refusal', async () => {
  const arrival = fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.nat(100), fc.nat(1500)),
    leavesAfterMs: fc.option(fc.nat(2000), { nil: undefined }),
    patienceMs: fc.constantFrom(0, 200, 1500, PATIENCE_MS),
  });
  const rates = fc.constantFrom(1, 3, 10, 25, 1000);
  await fc.assert(
    fc.asyncProperty(rates, fc.array(arrival, { maxLength: 60 }), async (rate, arrivals) => {
      const subject = limit(rate);
      const served: { index: number; at: number; waitedMs: number }[] = [];
      const outcomes: Promise<'go' | Refusal>[] = [];
      for (const [index, { afterMs, leavesAfterMs, patienceMs }] of arrivals.entries()) {
        await run(afterMs);
        const at = performance.now();
        const leaving = new AbortController();
        if (leavesAfterMs !== undefined) setTimeout(() => leaving.abort(), leavesAfterMs);
        const taken = subject.take(patienceMs, sentFor(leaving.signal));
        outcomes.push(taken);
        void taken.then((outcome) => {
          if (outcome === 'go') served.push({ index, at: performance.now(), waitedMs: performance.now() - at });
        });
      }
      await run(70_000);
      const ended = await Promise.all(outcomes);
      const order = served.map(({ index }) => index);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      for (const { index, waitedMs } of served) {
        expect(waitedMs).toBeLessThanOrEqual((arrivals[index]?.patienceMs ?? 0) + TIMER_MS);
      }
      for (const [index, { leavesAfterMs, patienceMs }] of arrivals.entries()) {
        const outcome = ended[index];
        if (outcome === undefined || outcome === 'go') continue;
        if (leavesAfterMs === undefined) expect(outcome.reason).toBe('rate-limit');
        if (outcome.reason === 'rate-limit') expect(outcome.retryAfterMs).toBeGreaterThan(patienceMs);
      }
      const sentAt = served.map(({ at }) => at);
      expect(mostWithin(sentAt, 1000)).toBeLessThanOrEqual(rate + 1);
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 100 },
  );
});
