import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { account, KEY, ONE, StreamUnderTest, stretchedOn, traceHash } from './stream-under-test.ts';

let stream: StreamUnderTest;

beforeEach(() => {
  stream = new StreamUnderTest();
});

afterEach(() => stream[Symbol.dispose]());

const stretched = (said = {}) => stretchedOn(stream, said);

describe('an event', () => {
  test.each([
    ['account that was asked for', account(1)],
    ['account of a listed trace', account(2)],
    ['trace', traceHash(1)],
  ])(
    'that names an %s makes the entry stale at once, and refreshes it when the others of one change are there',
    (_, name) => {
      const kept = stretched(ONE);
      expect(stream.freshness(kept)).toBe('fresh');
      stream.event(name);
      expect(stream.freshness(kept)).toBe('stale-if-error');
      vi.advanceTimersByTime(9);
      expect(stream.refreshed).toEqual([]);
      stream.event(name);
      vi.advanceTimersByTime(1);
      expect(stream.refreshed).toEqual([KEY]);
      stream.answer(KEY, ONE);
      vi.advanceTimersByTime(1000);
      expect(stream.refreshed).toEqual([KEY]);
    },
  );

  test('a few ms after another makes stale at once what was asked for between them', () => {
    stretched(ONE);
    stream.event(traceHash(1));
    vi.advanceTimersByTime(5);
    const between = stream.answer(KEY, ONE);
    expect(stream.freshness(between)).toBe('fresh');
    stream.event(traceHash(1));
    expect(stream.freshness(between)).toBe('stale-if-error');
  });

  test.each(['actions', 'trace'])('of the classifier makes the entry stale at once too: %s', (type) => {
    const kept = stretched(ONE);
    stream.say(type, traceHash(1));
    expect(stream.freshness(kept)).toBe('stale-if-error');
    vi.advanceTimersByTime(10);
    expect(stream.refreshed).toEqual([KEY]);
  });

  test('of another trace of the accounts that it lists does nothing', () => {
    const kept = stretched(ONE);
    stream.event(traceHash(2), account(2));
    vi.advanceTimersByTime(100);
    expect(stream.freshMs(kept)).toBe(2000);
    expect(stream.refreshed).toEqual([]);
  });

  test('of another trace of the account that is asked for makes the entry stale', () => {
    const kept = stretched(ONE);
    stream.event(traceHash(2), account(1));
    expect(stream.freshness(kept)).toBe('stale-if-error');
  });

  test('of a trace that only the next answer lists is one of that answer, where it was asked for before', () => {
    const both = { ...ONE, traces: [traceHash(1), traceHash(2)], state: 'both' };
    const other = `account=${account(2)}`;
    stretched(ONE);
    stream.watch(other);
    stream.answer(other, both);
    stream.subscribe();
    const mark = stream.mark();
    stream.event(traceHash(2), account(2));
    expect(stream.freshMs(stream.answer(KEY, both, { mark }))).toBe(400);
    expect(stream.freshMs(stream.answer(KEY, both))).toBe(2000);
  });

  test('that names something else does nothing', () => {
    const kept = stretched(ONE);
    stream.event(account(3));
    stream.event(traceHash(3));
    expect(stream.freshness(kept)).toBe('fresh');
    expect(stream.refreshed).toEqual([]);
  });

  test('makes what Redis brings stale that another process asked for before it, and not what it asked for after', () => {
    const kept = stretched();
    vi.advanceTimersByTime(10);
    stream.event(account(1));
    const { watched, ...before } = kept;
    expect(stream.freshness({ ...before, askedAt: Date.now() - 1 })).toBe('stale-if-error');
    expect(stream.freshness({ ...before, askedAt: Date.now() + 1 })).toBe('fresh');
  });

  test('refreshes nothing that nobody asked for in the last 2 s: who asks next waits for a load', () => {
    const kept = stretched();
    vi.advanceTimersByTime(1991);
    stream.event(account(1));
    vi.advanceTimersByTime(10);
    expect(stream.refreshed).toEqual([]);
    expect(stream.freshness(kept)).not.toBe('fresh');
  });

  test('during a refresh begins one more, and however many came not two', async () => {
    stretched();
    let end: () => void = () => {};
    stream.onRefresh = () => new Promise<void>((resolve) => (end = resolve));
    stream.event(account(1));
    const mark = stream.mark();
    for (let time = 0; time < 5; time++) {
      vi.advanceTimersByTime(100);
      stream.event(account(1));
    }
    expect(stream.refreshed).toHaveLength(1);
    stream.answer(KEY, {}, { mark });
    end();
    await vi.advanceTimersByTimeAsync(0);
    expect(stream.refreshed).toHaveLength(2);
    stream.answer(KEY);
    end();
    await vi.advanceTimersByTimeAsync(1000);
    expect(stream.refreshed).toHaveLength(2);
  });

  test('a moment after another one makes the entry stale 100 ms after that: a flood is no flood of requests', async () => {
    stretched();
    stream.onRefresh = () => void stream.answer(KEY);
    for (let time = 0; time < 1000; time++) {
      if (time % 100 === 0) stream.ask(KEY);
      stream.event(account(1));
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(stream.refreshed.length).toBeGreaterThanOrEqual(10);
    expect(stream.refreshed.length).toBeLessThanOrEqual(11);
  });

  test('ends the longer life of an entry even where it does not make it stale yet', () => {
    stretched();
    stream.event(account(1));
    vi.advanceTimersByTime(11);
    const kept = stream.answer(KEY);
    expect(stream.freshMs(kept)).toBe(2000);
    stream.event(account(1));
    expect(stream.freshMs(kept)).toBe(400);
    vi.advanceTimersByTime(89);
    expect(stream.freshness(kept)).toBe('stale-if-error');
  });
});
