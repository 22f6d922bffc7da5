import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { encodeEntry } from '../../../src/cache/entry-codec.ts';
import { keptBody } from '../../../src/cache/gzip.ts';
import { STORE } from '../../../src/cache/redis-store.ts';
import { usableUntil } from '../../../src/instants.ts';
import { anEntry } from '../../support/entry.ts';
import { entry, refuses, tierOn } from './redis-tier-on.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: entry.askedAt });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a write', () => {
  test('stores the entry until its stale windows are over', async () => {
    const { tier, connection, outcomesOf } = tierOn({});
    vi.setSystemTime(entry.askedAt + 20_000);
    tier.set(entry);
    await tier.idle();
    expect(connection.runScript).toHaveBeenCalledWith(
      STORE,
      [expect.stringMatching(/^toncache:test:\{.+\}$/), expect.stringMatching(/^toncache:test:\{.+\}:lease$/)],
      ['', encodeEntry(entry, keptBody(entry.content)), 100_000],
    );
    expect(outcomesOf('redis-write')).toEqual(['stored']);
  });

  test.each<[string, (script: string) => Promise<unknown>, string]>([
    ['stored', async () => 1, 'stored'],
    ['another instance has the lease', async (script) => (script === STORE ? 0 : [Buffer.from('x'), null]), 'unknown'],
    ['an error', refuses, 'failed'],
  ])('ends once, when Redis has answered: %s', async (_, runScript, outcome) => {
    const { tier } = tierOn({ runScript });
    const onEnd = vi.fn();
    expect(tier.set(entry, { purgedUntil: 7, onEnd })).toBe(true);
    await tier.idle();
    expect(onEnd.mock.calls.map(([ended]) => ended)).toEqual([outcome]);
  });

  test('of an entry whose stale windows are over is not sent', async () => {
    const { tier, connection, outcomesOf } = tierOn({});
    vi.setSystemTime(usableUntil(entry));
    tier.set(entry);
    await tier.idle();
    expect(connection.runScript).not.toHaveBeenCalled();
    expect(outcomesOf('redis-write')).toEqual(['expired']);
  });

  test('beyond the bytes that may be pending is dropped, until those are written', async () => {
    const large = anEntry({ askedAt: entry.askedAt, body: Buffer.alloc(600) });
    const { tier, outcomesOf } = tierOn({}, { maxPendingWriteBytes: 1000 });
    tier.set(large);
    tier.set(large);
    await tier.idle();
    tier.set(large);
    await tier.idle();
    expect(outcomesOf('redis-write')).toEqual(['dropped', 'stored', 'stored']);
  });

  test('added while others are awaited is awaited too', async () => {
    const writes = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
    let calls = 0;
    const { tier } = tierOn({ runScript: async () => writes[calls++]?.promise });
    const isIdle = vi.fn();
    tier.set(entry);
    const idle = tier.idle().then(isIdle);
    tier.set(entry);
    writes[0]?.resolve(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(isIdle).not.toHaveBeenCalled();
    writes[1]?.resolve(1);
    await idle;
    expect(tier.pendingWrites).toBe(0);
  });
});
