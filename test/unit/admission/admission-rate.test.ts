import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ABANDONED, type EntryRequest } from '../../../src/admission/guard.ts';
import { RateLimit } from '../../../src/admission/rate-limit.ts';
import { again, firstTry, ofLoad, withClientKey } from '../../../src/fleet/lanes.ts';
import { sentFor } from '../../support/sent-for.ts';
import { come, openAdmission, PATIENCE_MS, settle, slotsInUse } from './open-admission.ts';

function request(options: Partial<EntryRequest> = {}): EntryRequest {
  return { operation: 'any', key: 'key', clients: ['one'], lane: firstTry(), sentFor: sentFor(), ...options };
}

const rateOf = (perSecond: number) =>
  new RateLimit({ now: () => performance.now(), perSecond, longestWaitMs: PATIENCE_MS });

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a limited rate', () => {
  test('gives a waiting request no slot, and drops it when its client leaves', async () => {
    const admission = openAdmission({ rate: rateOf(1) });
    const [first, second] = await come(admission, 2);
    first?.send();
    await settle();
    expect([second?.said, slotsInUse(admission), admission.backlog.size]).toEqual([undefined, 1, 1]);
    second?.leave();
    await settle();
    expect([second?.entered, admission.inFlight, slotsInUse(admission)]).toEqual([ABANDONED, 1, 1]);
  });

  test('gives each waiting client a reservation before any client gets a second one, across operations', async () => {
    const admission = openAdmission({ rate: rateOf(10), max: 100 });
    const order: string[] = [];
    const ask = (client: string, operation: string) =>
      void Promise.resolve(admission.enter(request({ operation, clients: [client] }))).then(() => order.push(client));
    ask('first', 'any');
    for (const operation of ['one', 'two', 'three']) for (let n = 0; n < 5; n++) ask('greedy', operation);
    ask('polite', 'one');
    ask('another', 'three');
    await vi.advanceTimersByTimeAsync(600);
    expect(order).toEqual(['first', 'greedy', 'another', 'polite', 'greedy', 'greedy', 'greedy']);
  });

  test('gives the reservation of a ticket that is freed unsent to the next request immediately', async () => {
    const admission = openAdmission({ rate: rateOf(10), max: 100 });
    const [first, second, third] = await come(admission, 3);
    first?.ticket.free();
    await settle();
    expect([second?.said, third?.said]).toEqual(['ticket', undefined]);
    second?.send();
    await settle();
    second?.ticket.free();
    await vi.advanceTimersByTimeAsync(96);
    expect(third?.said).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(third?.said).toBe('ticket');
  });

  test('gives a refresh a reservation only while no client waits for one', async () => {
    const admission = openAdmission({ rate: rateOf(10), max: 100 });
    const refresh = (operation: string) =>
      admission.enter(request({ operation, clients: [], lane: ofLoad(true, undefined) }));
    expect(await refresh('any')).toHaveProperty('send');
    await vi.advanceTimersByTimeAsync(100);
    const [holder, waiting] = await come(admission, 2);
    expect([holder?.said, waiting?.said]).toEqual(['ticket', undefined]);
    await vi.advanceTimersByTimeAsync(50);
    expect(await refresh('other')).toEqual({ reason: 'rate-limit', retryAfterMs: 0 });
    await vi.advanceTimersByTimeAsync(50);
    expect(waiting?.said).toBe('ticket');
    await vi.advanceTimersByTimeAsync(100);
    expect(await refresh('other')).toHaveProperty('send');
  });

  test('gives a second try a reservation only when no other request waits for one', async () => {
    const admission = openAdmission({ rate: rateOf(10), max: 100 });
    const order: string[] = [];
    const ask = (name: string, options: Partial<EntryRequest> = {}) =>
      void Promise.resolve(admission.enter(request(options))).then(() => order.push(name));
    ask('first');
    ask('again', { lane: again(firstTry()) });
    for (let n = 0; n < 3; n++) ask(`waits ${n}`);
    await vi.advanceTimersByTimeAsync(1000);
    expect(order).toEqual(['first', 'waits 0', 'waits 1', 'waits 2', 'again']);
  });

  test('does not delay a request with its own API key', async () => {
    const admission = openAdmission({ rate: rateOf(1), max: 1 });
    const [holder, waiting] = await come(admission, 2);
    const keyed = admission.enter(request({ lane: withClientKey(firstTry()) }));
    holder?.send();
    await settle();
    holder?.ticket.free();
    expect(await keyed).toHaveProperty('send');
    expect([waiting?.said, admission.backlog.size]).toEqual([undefined, 1]);
  });
});
