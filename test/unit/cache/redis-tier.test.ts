import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { encodeEntry } from '../../../src/cache/entry-codec.ts';
import { redisKeyFor } from '../../../src/cache/redis-key.ts';
import { STORE } from '../../../src/cache/redis-store.ts';
import { RedisTier, type RedisTierEvent, type RedisTierOptions } from '../../../src/cache/redis-tier.ts';
import type { RedisConnection, RedisScripting } from '../../../src/redis/connect.ts';
import { NodeLost } from '../../../src/redis/connect.ts';
import { anEntry, asTheyAre, keptForm } from '../../support/entry.ts';

const BUDGET_MS = 50;
const OPEN_MS = 1000;
const FAULTS = 3;
const entry = anEntry({ askedAt: 1_700_000_000_000 });

beforeEach(() => {
  vi.useFakeTimers({ now: entry.askedAt });
});

afterEach(() => {
  vi.useRealTimers();
});

/** A tier on a connection whose answers each test writes itself. */
function tierOn(answers: Partial<RedisConnection & RedisScripting>, options: Partial<RedisTierOptions> = {}) {
  const connection = {
    getBuffer: vi.fn(answers.getBuffer ?? (async () => undefined)),
    set: async () => {},
    runScript: vi.fn(answers.runScript ?? (async () => 'stored')),
    close: async () => {},
  };
  const events: RedisTierEvent[] = [];
  const tier = new RedisTier({
    connection,
    redisKey: redisKeyFor('toncache:test:'),
    toStore: asTheyAre,
    budgetMs: BUDGET_MS,
    breaker: { faults: FAULTS, openMs: OPEN_MS },
    maxPendingWrites: 10,
    maxPendingWriteBytes: 1000,
    now: Date.now,
    monotonic: () => performance.now(),
    report: (event) => events.push(event),
    ...options,
  });
  const outcomesOf = (name: 'redis-read' | 'redis-write') =>
    events.flatMap((event) => (event.name === name ? [event.outcome] : []));
  const transitions = () => events.filter((event) => event.name === 'redis-available');
  return { tier, connection, events, outcomesOf, transitions };
}

const refuses = () => Promise.reject(new Error('LOADING'));
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
    const bytes = encodeEntry(entry, keptForm(entry));
    const { tier } = tierOn({ getBuffer: async () => bytes });
    vi.setSystemTime(entry.staleIfErrorUntil - 1);
    expect(await tier.get(entry.key)).toMatchObject({ state: 'found', entry });
    vi.setSystemTime(entry.staleIfErrorUntil);
    expect(await tier.get(entry.key)).toMatchObject({ state: 'absent' });
  });

  test('asks for the digest of the key in braces, under the prefix', async () => {
    const { tier, connection } = tierOn({});
    await tier.get(entry.key);
    expect(connection.getBuffer).toHaveBeenCalledWith(expect.stringMatching(/^toncache:test:\{[\w-]{43}\}$/));
  });
});

describe('the circuit breaker', () => {
  test('opens after several failures in a row, and reports that once', async () => {
    const { tier, connection, outcomesOf, transitions } = tierOn({ getBuffer: refuses });
    await failReads(tier, FAULTS + 20);
    expect(connection.getBuffer).toHaveBeenCalledTimes(FAULTS);
    expect(outcomesOf('redis-read')).toEqual([
      ...Array.from({ length: FAULTS }, () => 'failed'),
      ...Array.from({ length: 20 }, () => 'rejected-by-breaker'),
    ]);
    expect(transitions()).toEqual([
      { name: 'redis-available', operation: 'read', available: false, reason: 'LOADING' },
    ]);
  });

  test('does not count failures of one node of a Cluster: the others answer', async () => {
    const { tier, connection, outcomesOf, transitions } = tierOn({ getBuffer: () => Promise.reject(new NodeLost()) });
    await failReads(tier, FAULTS + 20);
    expect(connection.getBuffer).toHaveBeenCalledTimes(FAULTS + 20);
    expect(new Set(outcomesOf('redis-read'))).toEqual(new Set(['failed']));
    expect(transitions()).toEqual([]);
  });

  test('counts a look-up over its budget as a failure', async () => {
    const { tier, transitions } = tierOn({ getBuffer: never });
    const reads = Array.from({ length: FAULTS }, () => tier.get(entry.key));
    await vi.advanceTimersByTimeAsync(BUDGET_MS + 1);
    await Promise.all(reads);
    expect(transitions()).toMatchObject([{ available: false, reason: 'no answer within 50 ms' }]);
  });

  test('counts failures in a row only', async () => {
    const answers = [refuses, refuses, async () => undefined];
    let calls = 0;
    const { tier, transitions } = tierOn({ getBuffer: () => (answers[calls++ % 3] ?? refuses)() });
    for (let time = 0; time < 30; time++) await tier.get(entry.key);
    expect(transitions()).toEqual([]);
  });

  test('does not count damaged bytes as a failure', async () => {
    const { tier, outcomesOf, transitions } = tierOn({ getBuffer: async () => Buffer.from('garbage') });
    for (let time = 0; time < 5; time++) expect(await tier.get(entry.key)).toMatchObject({ state: 'absent' });
    expect(outcomesOf('redis-read')).toEqual(Array.from({ length: 5 }, () => 'corrupt'));
    expect(transitions()).toEqual([]);
  });

  test('lets one trial through after the open duration, while all other look-ups fail at once', async () => {
    const trial = Promise.withResolvers<Buffer | undefined>();
    let answer: RedisConnection['getBuffer'] = refuses;
    const { tier, connection, transitions } = tierOn({ getBuffer: (key) => answer(key) });
    await failReads(tier, FAULTS);
    await vi.advanceTimersByTimeAsync(OPEN_MS);
    answer = () => trial.promise;
    const tried = tier.get(entry.key);
    await failReads(tier, 20);
    expect(connection.getBuffer).toHaveBeenCalledTimes(FAULTS + 1);
    trial.resolve(undefined);
    expect(await tried).toMatchObject({ state: 'absent' });
    expect(await tier.get(entry.key)).toMatchObject({ state: 'absent' });
    expect(transitions().map((event) => event.available)).toEqual([false, true]);
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

  test('reports nothing when the trial fails too', async () => {
    const { tier, connection, transitions } = tierOn({ getBuffer: refuses });
    await failReads(tier, FAULTS);
    for (let trial = 1; trial <= 5; trial++) {
      await vi.advanceTimersByTimeAsync(OPEN_MS);
      await failReads(tier, 10);
      expect(connection.getBuffer).toHaveBeenCalledTimes(FAULTS + trial);
    }
    expect(transitions()).toHaveLength(1);
  });

  test('opens for reads and writes separately', async () => {
    const { tier, outcomesOf, transitions } = tierOn({ runScript: () => Promise.reject(new Error('READONLY')) });
    for (let time = 0; time < FAULTS + 2; time++) {
      tier.set(entry);
      await tier.idle();
    }
    expect(await tier.get(entry.key)).toMatchObject({ state: 'absent' });
    expect(outcomesOf('redis-write')).toEqual([
      'failed',
      'failed',
      'failed',
      'rejected-by-breaker',
      'rejected-by-breaker',
    ]);
    expect(transitions()).toEqual([
      { name: 'redis-available', operation: 'write', available: false, reason: 'READONLY' },
    ]);
  });
});

describe('a write', () => {
  test('stores the entry until its stale windows are over', async () => {
    const { tier, connection, outcomesOf } = tierOn({});
    vi.setSystemTime(entry.askedAt + 20_000);
    tier.set(entry);
    await tier.idle();
    expect(connection.runScript).toHaveBeenCalledWith(
      STORE,
      [expect.stringMatching(/^toncache:test:\{.+\}$/)],
      [encodeEntry(entry, keptForm(entry)), 100_000, 0],
    );
    expect(outcomesOf('redis-write')).toEqual(['stored']);
  });

  test.each<[string, () => Promise<unknown>, string]>([
    ['stored', async () => 'stored', 'stored'],
    ['older', async () => 'older', 'kept'],
    ['regressed', async () => 'regressed', 'kept'],
    ['garbage', async () => 'garbage', 'failed'],
    ['an error', refuses, 'failed'],
  ])('ends once, when Redis has answered: %s', async (_, runScript, outcome) => {
    const { tier } = tierOn({ runScript });
    const onEnd = vi.fn();
    expect(tier.set(entry, { purgedUntil: 7, onEnd })).toBe(true);
    await tier.idle();
    expect(onEnd.mock.calls).toEqual([[outcome]]);
  });

  test('of an entry whose stale windows are over is not sent', async () => {
    const { tier, connection, outcomesOf } = tierOn({});
    vi.setSystemTime(entry.staleIfErrorUntil);
    tier.set(entry);
    await tier.idle();
    expect(connection.runScript).not.toHaveBeenCalled();
    expect(outcomesOf('redis-write')).toEqual(['expired']);
  });

  test('beyond the number that may be pending is dropped', async () => {
    const writes = Promise.withResolvers<string>();
    const { tier, outcomesOf } = tierOn({ runScript: () => writes.promise }, { maxPendingWrites: 2 });
    for (let time = 0; time < 5; time++) tier.set(entry);
    expect(tier.pendingWrites).toBe(2);
    expect(outcomesOf('redis-write')).toEqual(['dropped', 'dropped', 'dropped']);
    writes.resolve('stored');
    await tier.idle();
    expect(tier.pendingWrites).toBe(0);
    tier.set(entry);
    await tier.idle();
    expect(outcomesOf('redis-write').slice(3)).toEqual(['stored', 'stored', 'stored']);
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

  test('that fails is only reported', async () => {
    const { tier, outcomesOf } = tierOn({ runScript: refuses });
    expect(tier.set(entry)).toBe(true);
    await tier.idle();
    expect(outcomesOf('redis-write')).toEqual(['failed']);
  });

  test('added while others are awaited is awaited too', async () => {
    const writes = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let calls = 0;
    const { tier } = tierOn({ runScript: async () => writes[calls++]?.promise });
    const isIdle = vi.fn();
    tier.set(entry);
    const idle = tier.idle().then(isIdle);
    tier.set(entry);
    writes[0]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(isIdle).not.toHaveBeenCalled();
    writes[1]?.resolve();
    await idle;
    expect(tier.pendingWrites).toBe(0);
  });
});
