import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Client, come, openAdmission, PATIENCE_MS, said, settle } from '../../support/open-admission.ts';

const SHARES = { pending: 0.4, adjacent: 0.3, shards: 0.2 };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('a freed slot', () => {
  test('goes to the request that has waited longest, before any that comes at that moment', async () => {
    const admission = openAdmission({ max: 1 });
    const [holder, first, second] = await come(admission, 3);
    holder?.ticket.end('answered');
    const newcomer = new Client(admission);
    await settle();
    expect(said([first, second, newcomer].flatMap((client) => client ?? []))).toEqual(['ticket', undefined, undefined]);
    first?.ticket.end('answered');
    await settle();
    expect([second?.said, newcomer.said, admission.slotsInUse]).toEqual(['ticket', undefined, 1]);
  });

  test('that another operation has kept goes to a waiting request, not to a new one', async () => {
    const admission = openAdmission({ max: 10, shares: SHARES });
    await come(admission, 1, { operation: 'pending' }).then(([client]) => client?.ticket.end('answered'));
    await pass(59_000);
    const [holder, ...others] = await come(admission, 10, { operation: 'shards' });
    await pass(1000);
    const [newcomer] = await come(admission, 1, { operation: 'shards' });
    expect([others.at(-1)?.said, newcomer?.said, admission.slotsInUse]).toEqual([undefined, undefined, 9]);
    holder?.ticket.end('answered');
    await settle();
    expect([others.at(-1)?.said, newcomer?.said]).toEqual(['ticket', 'ticket']);
  });

  test('skips requests whose client has left', async () => {
    const admission = openAdmission({ max: 1 });
    const [holder, first, second] = await come(admission, 3);
    first?.leave();
    await settle();
    expect([first?.said, admission.waiting]).toEqual(['abandoned', 1]);
    holder?.ticket.end('answered');
    await settle();
    expect(second?.said).toBe('ticket');
  });

  test('is freed once, however often its ticket is ended', async () => {
    const admission = openAdmission({ max: 1 });
    const [holder, second, third] = await come(admission, 3);
    holder?.ticket.end('answered');
    holder?.ticket.end('answered');
    await settle();
    expect([second?.said, third?.said, admission.slotsInUse]).toEqual(['ticket', undefined, 1]);
  });

  test('goes to each client in turn, and to a flight by the best place of those who wait for it', async () => {
    const admission = openAdmission({ max: 1 });
    const [holder] = await come(admission, 1);
    const [first, second, third] = await come(admission, 3, { client: 'greedy' });
    const [other] = await come(admission, 1, { client: 'other' });
    if (third !== undefined) admission.join(third.request, 'joined');
    const order: string[] = [];
    for (const [name, client] of Object.entries({ holder, first, other, third, second })) {
      if (client?.said === 'ticket') order.push(name);
      client?.ticket.end('answered');
      await settle();
    }
    expect(order).toEqual(['holder', 'first', 'other', 'third', 'second']);
  });

  test('is what a refresh needs, which never waits', async () => {
    const admission = openAdmission({ max: 1 });
    const [refresh] = await come(admission, 1, { neverWaits: true });
    const [dropped] = await come(admission, 1, { neverWaits: true });
    expect([refresh?.said, dropped?.said, admission.waiting]).toEqual(['ticket', 'no-free-slot', 0]);
  });
});

describe('requests in flight', () => {
  test('count from the moment they are sent until they end', async () => {
    const admission = openAdmission({ max: 1 });
    const [first, second] = await come(admission, 2);
    const counts = [admission.inFlight];
    first?.send();
    await settle();
    counts.push(admission.inFlight);
    first?.ticket.end('answered');
    await settle();
    counts.push(admission.inFlight);
    second?.send();
    await settle();
    counts.push(admission.inFlight);
    expect(counts).toEqual([0, 1, 0, 1]);
  });
});

describe('a waiting request', () => {
  test('is refused when its patience ends, with a finite time to wait', async () => {
    const admission = openAdmission({ max: 1 });
    const [, first] = await come(admission, 5);
    await pass(PATIENCE_MS - 5);
    expect(first?.said).toBeUndefined();
    await pass(1);
    expect(first?.entered).toEqual({ reason: 'waited-too-long', retryAfterMs: 2 * PATIENCE_MS });
  });
});
