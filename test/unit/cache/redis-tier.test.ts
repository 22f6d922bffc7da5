import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { encodeEntry } from '../../../src/cache/entry-codec.ts';
import { keptBody } from '../../../src/cache/gzip.ts';
import type { RedisTier } from '../../../src/cache/redis-tier.ts';
import { usableUntil } from '../../../src/instants.ts';
import { NodeLost } from '../../../src/redis/connect.ts';
import { BUDGET_MS, entry, FAULTS, OPEN_MS, refuses, tierOn } from './redis-tier-on.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: entry.askedAt });
});

afterEach(() => {
  vi.useRealTimers();
});
const never = () => new Promise<never>(() => {});

async function failReads(tier: RedisTier, times: number): Promise<void> {
  for (let time = 0; time < times; time++) expect(await tier.get(entry.key)).toEqual({ state: 'failed' });
}

describe('a look-up', () => {
  test('that Redis does not answer fails when its budget ends, not before', async () => {
    const { tier } = tierOn({ getBuffer: never });
    const ended = vi.fn();
    const read = tier.get(entry.key).finally(ended);
    await vi.advanceTimersByTimeAsync(BUDGET_MS - 1);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2);
    expect(await read).toEqual({ state: 'failed' });
  });

  test('whose answer comes late fails once, whatever the answer is', async () => {
    const late = Promise.withResolvers<Buffer | undefined>();
    const { tier, outcomesOf } = tierOn({ getBuffer: () => late.promise });
    const read = tier.get(entry.key);
    await vi.advanceTimersByTimeAsync(BUDGET_MS + 1);
    late.reject(new Error('connection lost'));
    expect(await read).toEqual({ state: 'failed' });
    expect(outcomesOf('redis-read')).toEqual(['failed']);
  });

  test('leaves no timer behind', async () => {
    const { tier } = tierOn({});
    await tier.get(entry.key);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('does not return an entry whose stale windows are over', async () => {
    const bytes = encodeEntry(entry, keptBody(entry.content));
    const { tier } = tierOn({ getBuffer: async () => bytes });
    vi.setSystemTime(usableUntil(entry) - 1);
    expect(await tier.get(entry.key)).toMatchObject({ state: 'found', entry });
    vi.setSystemTime(usableUntil(entry));
    expect(await tier.get(entry.key)).toMatchObject({ state: 'absent' });
  });

  test('asks for the digest of the key in braces, under the prefix', async () => {
    const { tier, connection } = tierOn({});
    await tier.get(entry.key);
    expect(connection.getBuffer).toHaveBeenCalledWith(expect.stringMatching(/^toncache:test:\{[\w-]{43}\}$/));
  });
});

describe('the circuit breaker', () => {
  test('does not count failures of one node of a Cluster: the others answer', async () => {
    const { tier, connection, outcomesOf, transitions } = tierOn({ getBuffer: () => Promise.reject(new NodeLost()) });
    await failReads(tier, FAULTS + 20);
    expect(connection.getBuffer).toHaveBeenCalledTimes(FAULTS + 20);
    expect(new Set(outcomesOf('redis-read'))).toEqual(new Set(['failed']));
    expect(transitions()).toEqual([]);
  });

  test('does not count damaged bytes as a failure', async () => {
    const { tier, outcomesOf, transitions } = tierOn({ getBuffer: async () => Buffer.from('garbage') });
    for (let time = 0; time < 5; time++) expect(await tier.get(entry.key)).toMatchObject({ state: 'absent' });
    expect(outcomesOf('redis-read')).toEqual(Array.from({ length: 5 }, () => 'corrupt'));
    expect(transitions()).toEqual([]);
  });

  test.each([-3_600_000, 3_600_000])(
    'stays open by the monotonic clock when the wall clock is set by %i ms',
    async (byMs) => {
      const { tier, connection } = tierOn({ getBuffer: refuses });
      await failReads(tier, FAULTS);
      vi.setSystemTime(Date.now() + byMs);
      await vi.advanceTimersByTimeAsync(OPEN_MS - 1);
      await failReads(tier, 10);
      expect(connection.getBuffer).toHaveBeenCalledTimes(FAULTS);
      await vi.advanceTimersByTimeAsync(1);
      await failReads(tier, 10);
      expect(connection.getBuffer).toHaveBeenCalledTimes(FAULTS + 1);
    },
  );
});
