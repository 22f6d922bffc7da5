import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Client, come, openAdmission, said } from '../../support/open-admission.ts';

const SHARES = { pending: 0.4, adjacent: 0.3, shards: 0.2 };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** Ends the first ticket of an operation that is out; the client that had it. */
async function end(clients: Client[], operation: string): Promise<void> {
  const index = clients.findIndex((client) => client.said === 'ticket' && client.request.operation === operation);
  const [client] = clients.splice(index, 1);
  client?.ticket.end('answered');
  await pass(1);
}

describe('a share', () => {
  test('comes back with the next free slots, before all other waiters, until it is whole', async () => {
    const admission = openAdmission({ max: 10, shares: SHARES });
    const shards = await come(admission, 30, { operation: 'shards' });
    const pending = await come(admission, 10, { operation: 'pending' });
    const adjacent = await come(admission, 10, { operation: 'adjacent' });
    for (let n = 0; n < 7; n++) await end(shards, 'shards');
    const count = (clients: Client[]) => clients.filter((client) => client.said === 'ticket').length;
    expect([count(pending), count(adjacent), count(shards)]).toEqual([4, 3, 3]);
    // From here on no operation is below its share, and the oldest request is next.
    await end(shards, 'shards');
    expect([count(pending), count(adjacent), count(shards)]).toEqual([4, 3, 3]);
  });

  test('of an operation that hangs leaves the others their own slots at once', async () => {
    const admission = openAdmission({ max: 64, shares: SHARES });
    await come(admission, 1, { operation: 'adjacent' });
    const hanging = await come(admission, 80, { operation: 'pending' });
    expect(hanging.filter((client) => client.said === 'ticket')).toHaveLength(64 - 5);
    expect(said(await come(admission, 5, { operation: 'adjacent' }))).toEqual([...Array(4).fill('ticket'), undefined]);
  });
});
