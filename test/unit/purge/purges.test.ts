import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type AskedPurge, Purges } from '../../../src/purge/purges.ts';

const NOW = 1_800_000_000_000;

const asked: AskedPurge = { selector: 'seqno', value: 7, tag: 'seqno:7', soft: false };

beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

/** Purges whose record Redis dates at this instant, and whether a purge has been answered yet. */
function purging(at: number | undefined) {
  const report = vi.fn();
  const reply = [NOW, 1, '', '0', ['hard seqno:7', String(at)]];
  const runScript = at === undefined ? undefined : async () => reply;
  const purges = new Purges(
    { tagsOf: () => [], onEpoch: () => {}, runScript, now: Date.now, report },
    { key: 'unused', usableMs: 0 },
  );
  const purge = { isAnswered: false, report };
  void purges.purge(asked).then(() => {
    purge.isAnswered = true;
    purges.close();
  });
  return purge;
}

describe('a purge', () => {
  test.each([0, 5, 1000])('that is dated %i ms ahead is answered once that instant has passed', async (aheadMs) => {
    const purge = purging(NOW + aheadMs);
    await vi.advanceTimersByTimeAsync(aheadMs);
    expect([purge.isAnswered, purge.report.mock.calls.length]).toEqual([false, 1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(purge.isAnswered).toBe(true);
  });

  test('without Redis is answered in the next millisecond', async () => {
    const purge = purging(undefined);
    await vi.advanceTimersByTimeAsync(0);
    expect(purge.isAnswered).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(purge.isAnswered).toBe(true);
  });

  test('that a wrong clock dated more than a second ahead is answered at once', async () => {
    const purge = purging(NOW + 1001);
    await vi.advanceTimersByTimeAsync(0);
    expect(purge.isAnswered).toBe(true);
  });

  test('is answered after a few waits when the clock stands still', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW });
    const purge = purging(NOW + 5);
    await vi.waitFor(() => expect(purge.isAnswered).toBe(true));
  });
});
