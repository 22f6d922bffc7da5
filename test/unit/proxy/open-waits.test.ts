import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import { OpenWaits, type Wait } from '../../../src/proxy/open-waits.ts';

const TIMEOUT_MS = 1000;
let waits: OpenWaits;

beforeEach(() => {
  vi.useFakeTimers();
  waits = new OpenWaits({ timeoutMs: TIMEOUT_MS, maxOpen: 1000 });
});

afterEach(() => vi.useRealTimers());

function open(): Wait {
  const wait = waits.open();
  if (wait === undefined) throw new Error('too many are open');
  return wait;
}

describe('a wait', () => {
  test('ends at its own deadline, in the order in which waits began', () => {
    const ended: number[] = [];
    for (let index = 0; index < 5; index++) {
      open().onEnd = () => ended.push(index);
      vi.advanceTimersByTime(100);
    }
    vi.advanceTimersByTime(TIMEOUT_MS - 500);
    expect(ended).toEqual([0]);
    vi.advanceTimersByTime(200);
    expect(ended).toEqual([0, 1, 2]);
    vi.advanceTimersByTime(1000);
    expect([ended, waits.size, vi.getTimerCount()]).toEqual([[0, 1, 2, 3, 4], 0, 0]);
  });

  test('is ended once, with the first reason', () => {
    const wait = open();
    const onEnd = vi.fn();
    wait.onEnd = onEnd;
    wait.end(new ProxyError('client-left', 'left'));
    vi.advanceTimersByTime(2 * TIMEOUT_MS);
    waits.endAll();
    expect([wait.reason?.code, onEnd.mock.calls.length]).toEqual(['client-left', 1]);
  });

  test('that was closed is not ended', () => {
    const wait = open();
    const onEnd = vi.fn();
    wait.onEnd = onEnd;
    wait.close();
    vi.advanceTimersByTime(2 * TIMEOUT_MS);
    waits.endAll();
    expect([wait.reason, onEnd.mock.calls.length, waits.size]).toEqual([undefined, 0, 0]);
  });

  test('has an abort signal with the reason where one is needed', () => {
    const [before, after] = [open(), open()];
    const { signal } = before;
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect([signal.reason, after.signal.reason]).toMatchObject([
      { code: 'upstream-timeout' },
      { code: 'upstream-timeout' },
    ]);
  });
});

describe('many waits', () => {
  test('are refused above the limit', () => {
    for (let index = 0; index < 1000; index++) open();
    const last = waits.open();
    expect(last).toBeUndefined();
    vi.advanceTimersByTime(TIMEOUT_MS + 10);
    expect(waits.open()).toBeDefined();
  });

  test('end when the process ends', () => {
    const all = Array.from({ length: 500 }, open);
    waits.endAll();
    expect(new Set(all.map(({ reason }) => reason?.code))).toEqual(new Set(['shutting-down']));
  });
});
