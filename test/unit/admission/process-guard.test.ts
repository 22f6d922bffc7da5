import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ProcessGuard, type ProcessLoad } from '../../../src/admission/process-guard.ts';

const LIMITS = { maxEventLoop: 0.98, maxHeap: 0.85, sampleEveryMs: 500 };
const IDLE: ProcessLoad = { eventLoop: 0.1, heap: 0.2 };

describe('by injected samples', () => {
  let load: ProcessLoad;
  let guard: ProcessGuard;

  beforeEach(() => {
    vi.useFakeTimers();
    load = IDLE;
    guard = new ProcessGuard({ ...LIMITS, sample: () => load });
  });

  afterEach(() => {
    guard.close();
    vi.useRealTimers();
  });

  test.each<[string, ProcessLoad, 'busy' | 'full' | undefined]>([
    ['an idle process', IDLE, undefined],
    ['one at both limits', { eventLoop: 0.98, heap: 0.85 }, undefined],
    ['one whose event loop is above its limit', { eventLoop: 0.981, heap: 0 }, 'busy'],
    ['one whose heap is above its limit', { eventLoop: 0, heap: 0.851 }, 'full'],
    ['one of which nothing is known', { eventLoop: Number.NaN, heap: Number.NaN }, undefined],
  ])('%s', (_, sampled, state) => {
    load = sampled;
    guard.update();
    expect([guard.isBusy, guard.isFull, guard.load]).toEqual([state === 'busy', state === 'full', sampled]);
  });

  test('looks by itself, as often as told, and is well again by itself', () => {
    load = { eventLoop: 1, heap: 0 };
    vi.advanceTimersByTime(LIMITS.sampleEveryMs - 1);
    expect(guard.isBusy).toBe(false);
    vi.advanceTimersByTime(1);
    expect(guard.isBusy).toBe(true);
    load = IDLE;
    vi.advanceTimersByTime(LIMITS.sampleEveryMs);
    expect(guard.isBusy).toBe(false);
  });

  test('looks no more once it is closed', () => {
    guard.close();
    load = { eventLoop: 1, heap: 1 };
    vi.advanceTimersByTime(10 * LIMITS.sampleEveryMs);
    expect([guard.isBusy, vi.getTimerCount()]).toEqual([false, 0]);
  });
});

describe('of this process', () => {
  /** Uses the whole event loop, and ends in a turn of its own. */
  function spin(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (performance.now() < until);
    return new Promise((resolve) => void setImmediate(resolve));
  }

  test('the event loop is busier while it is used than while it waits', async () => {
    const guard = new ProcessGuard(LIMITS);
    await spin(300);
    guard.update();
    const busy = guard.load.eventLoop;
    await new Promise((resolve) => void setTimeout(resolve, 100));
    guard.update();
    const waiting = guard.load.eventLoop;
    guard.close();
    expect(busy).toBeGreaterThan(0.5);
    expect(busy).toBeLessThanOrEqual(1);
    // It is the share since the last sample, not since the start.
    expect(waiting).toBeLessThan(0.5);
  });

  test('the heap is a part of its limit, and grows with what is kept', () => {
    const guard = new ProcessGuard(LIMITS);
    guard.update();
    const before = guard.load.heap;
    const kept = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
    guard.update();
    const after = guard.load.heap;
    guard.close();
    expect(kept).toHaveLength(1_000_000);
    expect(before).toBeGreaterThan(0);
    expect(after).toBeLessThan(1);
    expect(after).toBeGreaterThan(before);
  });
});
