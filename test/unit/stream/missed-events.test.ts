import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { account, StreamUnderTest } from './stream-under-test.ts';

let stream: StreamUnderTest;

beforeEach(() => {
  stream = new StreamUnderTest();
});

afterEach(() => stream[Symbol.dispose]());

const KEY = `account=${account(1)}`;

/** An answer to the watched key, all of whose names are acknowledged. */
function stretched(said = {}) {
  stream.watch(KEY);
  stream.answer(KEY, said);
  stream.subscribe();
  return stream.answer(KEY, said);
}

describe('a change without an event', () => {
  /** The end of a stretched answer, and another state. */
  function miss(state: string): void {
    vi.advanceTimersByTime(2000);
    stream.ask(KEY);
    stream.answer(KEY, { state });
  }

  test('is a missed event when none comes within 500 ms', () => {
    stretched({ state: 'first' });
    miss('a');
    vi.advanceTimersByTime(499);
    expect(stream.names()).not.toContain('stream-missed-event');
    vi.advanceTimersByTime(1);
    expect(stream.names()).toContain('stream-missed-event');
  });

  test('is none when the event comes late', () => {
    stretched({ state: 'first' });
    miss('a');
    vi.advanceTimersByTime(400);
    stream.event(account(1));
    vi.advanceTimersByTime(1000);
    expect(stream.names()).not.toContain('stream-missed-event');
  });

  test('is none when the connection was lost meanwhile', () => {
    stretched({ state: 'first' });
    miss('a');
    stream.server.socket.handlers.onClose('reset');
    vi.advanceTimersByTime(1000);
    expect(stream.names()).not.toContain('stream-missed-event');
  });

  test('three times in 10 s ends stretching for 30 s, of what is stretched already too', () => {
    const other = `account=${account(5)}`;
    stretched({ state: 'first' });
    stream.watch(other);
    for (const state of ['a', 'b']) miss(state);
    vi.advanceTimersByTime(500);
    expect(stream.isStretching).toBe(true);
    miss('c');
    stream.ask(other);
    const kept = stream.answer(other);
    expect(stream.freshMs(kept)).toBe(2000);
    vi.advanceTimersByTime(500);
    expect(stream.isStretching).toBe(false);
    expect(stream.reported.filter(({ name }) => name === 'stream-stretching')).toEqual([
      { name: 'stream-stretching', on: false },
    ]);
    expect(stream.freshMs(kept)).toBe(400);
    expect(stream.freshMs(stream.answer(other))).toBe(400);
    for (let second = 0; second < 30; second++) {
      stream.ask(other);
      vi.advanceTimersByTime(1000);
    }
    expect(stream.reported.at(-1)).toEqual({ name: 'stream-stretching', on: true });
    expect(stream.freshMs(stream.answer(other))).toBe(2000);
  });

  test('does not stop events from making answers fresher', () => {
    stretched({ state: 'first' });
    for (const state of ['a', 'b', 'c']) miss(state);
    vi.advanceTimersByTime(500);
    expect(stream.isStretching).toBe(false);
    const kept = stream.answer(KEY);
    stream.ask(KEY);
    stream.event(account(1));
    expect(stream.freshness(kept)).toBe('stale-if-error');
    vi.advanceTimersByTime(10);
    expect(stream.refreshed.at(-1)).toBe(KEY);
  });

  test('three times over a longer time is believed to be chance', () => {
    stretched({ state: 'first' });
    for (const state of ['a', 'b', 'c']) {
      miss(state);
      for (let second = 0; second < 6; second++) {
        stream.ask(KEY);
        vi.advanceTimersByTime(1000);
      }
    }
    expect(stream.names().filter((name) => name === 'stream-missed-event')).toHaveLength(3);
    expect(stream.isStretching).toBe(true);
  });
});
