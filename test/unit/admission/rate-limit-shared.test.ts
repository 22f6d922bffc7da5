import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RateLimit, type Reserved, type Taken } from '../../../src/admission/rate-limit.ts';

const PATIENCE_MS = 1500;
const STEP_MS = 100;

const never = new AbortController().signal;

type Reserve = (stepMs: number, longestWaitMs: number) => Promise<Reserved | undefined>;

let reserve: ReturnType<typeof vi.fn<Reserve>>;
let subject: RateLimit;

beforeEach(() => {
  vi.useFakeTimers();
  reserve = vi.fn<Reserve>();
  subject = new RateLimit({ reserveShared: reserve, now: () => performance.now() }, { perSecond: 1000 / STEP_MS });
});

afterEach(() => {
  vi.useRealTimers();
});

const run = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** How it ended, and when, once it has. */
interface Asked {
  taken?: Taken;
  afterMs?: number;
}

function ask(signal = never): Asked {
  const asked: Asked = {};
  const askedAt = performance.now();
  void subject.take(signal, PATIENCE_MS).then((taken) => {
    Object.assign(asked, { taken, afterMs: performance.now() - askedAt });
  });
  return asked;
}

const reserved = (waitMs: number): Reserved => ({ state: 'reserved', waitMs });
const tooLong = (waitMs: number): Reserved => ({ state: 'too-long', waitMs });

test('the slots are those that all instances share', async () => {
  reserve.mockResolvedValueOnce(reserved(0)).mockResolvedValueOnce(reserved(730.5));
  const asked = [ask(), ask()];
  await run(PATIENCE_MS);
  expect(reserve.mock.calls).toEqual([
    [STEP_MS, PATIENCE_MS],
    [STEP_MS, PATIENCE_MS],
  ]);
  expect(asked).toEqual([
    { taken: 'go', afterMs: 0 },
    { taken: 'go', afterMs: 731 },
  ]);
});

test('a request that would wait too long is refused with its wait, and so is the next', async () => {
  reserve.mockResolvedValue(tooLong(2000));
  const asked = ask();
  await run(0);
  expect([asked, subject.expectedWaitMs(0)]).toEqual([{ taken: { waitMs: 2000 }, afterMs: 0 }, 2000]);
  await run(500);
  expect(subject.expectedWaitMs(2)).toBe(1500 + 2 * STEP_MS);
});

describe('an answer that comes late', () => {
  test('gives its slot to the request that has waited longest', async () => {
    const late = Promise.withResolvers<Reserved>();
    reserve.mockReturnValueOnce(late.promise).mockResolvedValueOnce(reserved(100));
    const [first, second] = [ask(), ask()];
    await run(100);
    expect([first, second]).toEqual([{ taken: 'go', afterMs: 100 }, {}]);
    late.resolve(reserved(0));
    await run(0);
    expect(second).toEqual({ taken: 'go', afterMs: 100 });
  });

  test('and says that the slot is too far away leaves no request waiting for ever', async () => {
    const late = Promise.withResolvers<Reserved>();
    reserve.mockReturnValueOnce(late.promise).mockResolvedValueOnce(reserved(0));
    const [first, second] = [ask(), ask()];
    await run(0);
    expect([first.taken, second.taken]).toEqual(['go', undefined]);
    late.resolve(tooLong(2000));
    await run(0);
    expect(second).toEqual({ taken: { waitMs: 2000 }, afterMs: 0 });
  });

  test('for a request that has left refuses no other', async () => {
    const late = Promise.withResolvers<Reserved>();
    reserve.mockReturnValueOnce(late.promise).mockResolvedValueOnce(reserved(500));
    const leaving = new AbortController();
    const [first, second] = [ask(leaving.signal), ask()];
    leaving.abort();
    late.resolve(tooLong(2000));
    await run(499);
    expect([first.taken, second.taken]).toEqual(['abandoned', undefined]);
    await run(1);
    expect(second.taken).toBe('go');
  });
});
