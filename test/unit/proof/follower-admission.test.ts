import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { EntryRequest } from '../../../src/admission/guard.ts';
import { FIRST_TRY } from '../../../src/admission/send-rules.ts';
import type { Ticket } from '../../../src/admission/ticket.ts';
import { FollowerAdmission } from '../../../src/proof/follower-admission.ts';

const NOBODY = { isAbandoned: false, signal: new AbortController().signal };
const REQUEST: EntryRequest = { operation: 'blocks', key: 'key', clients: [], sentFor: NOBODY, ...FIRST_TRY };

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'performance'], now: 0 }));
afterEach(() => void vi.useRealTimers());

function open({ perSecond = 8, hasReservation = true, isRefused = false } = {}) {
  const freed: number[] = [];
  const reservedAt: number[] = [];
  const ticketAt = (index: number) => ({ route: { index }, free: () => void freed.push(index) }) as unknown as Ticket;
  const admission = new FollowerAdmission({
    admission: { enter: () => (isRefused ? { reason: 'paused', retryAfterMs: 7 } : ticketAt(3)) },
    perSecond: () => perSecond,
    takeNext: async (index) => {
      reservedAt.push(index);
      return hasReservation;
    },
    now: () => performance.now(),
  });
  return { admission, freed, reservedAt };
}

describe('the rate of the follower', () => {
  test('allows a burst of half a second, then even steps', async () => {
    const { admission } = open({ perSecond: 8 });
    const enteredAt: number[] = [];
    const entering = Promise.all(
      Array.from({ length: 8 }, () => admission.enter(REQUEST).then(() => enteredAt.push(performance.now()))),
    );
    await vi.runAllTimersAsync();
    await entering;
    // Five at once: four requests saved up in half a second, and the one that is due now.
    expect(enteredAt).toEqual([0, 0, 0, 0, 0, 125, 250, 375]);
  });

  test('saves up no larger burst while nothing is sent', async () => {
    const { admission } = open({ perSecond: 8 });
    await vi.advanceTimersByTimeAsync(60_000);
    const entered = Array.from({ length: 7 }, () => admission.enter(REQUEST).then(() => performance.now()));
    await vi.runAllTimersAsync();
    expect(await Promise.all(entered)).toEqual([0, 0, 0, 0, 0, 125, 250].map((ms) => 60_000 + ms));
  });
});

describe('a request of the follower', () => {
  test("takes the next reservation of its indexer's rate", async () => {
    const { admission, reservedAt, freed } = open();
    expect(await admission.enter(REQUEST)).toHaveProperty('route.index', 3);
    expect([reservedAt, freed]).toEqual([[3], []]);
  });

  test('gives its slot back and is refused if it gets no reservation', async () => {
    const { admission, freed } = open({ hasReservation: false });
    expect(await admission.enter(REQUEST)).toEqual({ reason: 'rate-limit', retryAfterMs: 0 });
    expect(freed).toEqual([3]);
  });

  test('takes no reservation if it is refused', async () => {
    const { admission, reservedAt } = open({ isRefused: true });
    expect(await admission.enter(REQUEST)).toEqual({ reason: 'paused', retryAfterMs: 7 });
    expect(reservedAt).toEqual([]);
  });
});
