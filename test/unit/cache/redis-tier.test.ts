import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { encodeEntry } from '../../../src/cache/entry-codec.ts';
import { keptBody } from '../../../src/cache/gzip.ts';
import { redisKeyFor } from '../../../src/cache/redis-key.ts';
import { RedisTier, type RedisTierEvent, type RedisTierOptions } from '../../../src/cache/redis-tier.ts';
import { usableUntil } from '../../../src/freshness.ts';
import type { RedisConnection, RedisScripting } from '../../../src/redis/connect.ts';
import { anEntry, asTheyAre } from '../../support/entry.ts';

const BUDGET_MS = 50;
const entry = anEntry({ askedAt: 1_700_000_000_000 });

/** A tier on a connection whose answers each test writes itself. */
function tierOn(answers: Partial<RedisConnection & RedisScripting>, options: Partial<RedisTierOptions> = {}) {
  const connection = {
    getBuffer: vi.fn(answers.getBuffer ?? (async () => undefined)),
    getStart: vi.fn(answers.getStart ?? (async () => Buffer.alloc(0))),
    set: async () => {},
    runScript: vi.fn(answers.runScript ?? (async () => 1)),
    close: async () => {},
  };
  const events: RedisTierEvent[] = [];
  const tier = new RedisTier(
    {
      connection,
      redisKey: redisKeyFor('toncache:test:'),
      toStore: asTheyAre,
      now: Date.now,
      monotonic: () => performance.now(),
      report: (event) => events.push(event),
    },
    {
      budgetMs: BUDGET_MS,
      breaker: { faults: 3, openMs: 1000 },
      maxPendingWrites: 10,
      maxPendingWriteBytes: 1000,
      ...options,
    },
  );
  const outcomesOf = (name: 'redis-read' | 'redis-write') =>
    events.flatMap((event) => (event.name === name ? [event.outcome] : []));
  return { tier, connection, outcomesOf };
}

beforeEach(() => {
  vi.useFakeTimers({ now: entry.askedAt });
});

afterEach(() => {
  vi.useRealTimers();
});
const never = () => new Promise<never>(() => {});

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

  test('does not return an entry whose stale windows are over', async () => {
    const bytes = encodeEntry(entry, keptBody(entry.content));
    const { tier } = tierOn({ getBuffer: async () => bytes });
    vi.setSystemTime(usableUntil(entry) - 1);
    expect(await tier.get(entry.key)).toMatchObject({ state: 'found', entry });
    vi.setSystemTime(usableUntil(entry));
    expect(await tier.get(entry.key)).toMatchObject({ state: 'absent' });
  });
});

describe('a write', () => {
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
