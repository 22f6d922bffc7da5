import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { come, openAdmission, PATIENCE_MS, settle } from '../../support/open-admission.ts';

const SHARES = { pending: 0.4, adjacent: 0.3, shards: 0.2 };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('a freed slot', () => {
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
