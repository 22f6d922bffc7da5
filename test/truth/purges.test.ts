import { expect, test, vi } from 'vitest';
import type { Call } from './call.ts';
import { Purges } from './purges.ts';

const CALL: Call = { operation: 'adjacentTransactions', hashes: ['a'] };
const OTHER: Call = { operation: 'adjacentTransactions', hashes: ['b'] };

test('a purge may have deleted what was answered before it, and in the second in which instances hear of it', async () => {
  const startedAt = vi.getRealSystemTime();
  vi.useFakeTimers({ now: startedAt });
  try {
    const purges = new Purges();
    const instance = { isKilled: false, purge: async () => 'everywhere' as const };
    expect(purges.mayHaveDeleted(CALL, startedAt, 0)).toBe(false);
    expect(await purges.purge(CALL, instance)).toBe(true);
    const answeredAfterMs = [-60_000, 0, 1000, 1001, 1500, 1501];
    const deleted = (delayMs: number) =>
      answeredAfterMs.filter((afterMs) => purges.mayHaveDeleted(CALL, startedAt + afterMs, delayMs));
    expect([deleted(0), deleted(500)]).toEqual([
      [-60_000, 0, 1000],
      [-60_000, 0, 1000, 1001, 1500],
    ]);
    expect(purges.mayHaveDeleted(OTHER, startedAt, 0)).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});
