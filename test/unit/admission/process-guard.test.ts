import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ProcessGuard, type ProcessLoad } from '../../../src/admission/process-guard.ts';

const LIMITS = { maxHeap: 0.85, sampleEveryMs: 500 };

describe('by injected samples', () => {
  let load: ProcessLoad;
  let guard: ProcessGuard;

  beforeEach(() => {
    vi.useFakeTimers();
    load = { heap: 0.2 };
    guard = new ProcessGuard({ ...LIMITS, sample: () => load });
  });

  afterEach(() => {
    guard.close();
    vi.useRealTimers();
  });

  test.each([
    ['is not full with free heap', 0.2, false],
    ['is not full at the limit', 0.85, false],
    ['is full above it', 0.851, true],
    ['is not full while nothing is known', Number.NaN, false],
  ])('a process %s', (_, heap, isFull) => {
    load = { heap };
    guard.update();
    expect([guard.isFull, guard.load]).toEqual([isFull, load]);
  });

  test('it looks by itself, as often as told, and a process is well again by itself', () => {
    load = { heap: 1 };
    vi.advanceTimersByTime(LIMITS.sampleEveryMs - 1);
    expect(guard.isFull).toBe(false);
    vi.advanceTimersByTime(1);
    expect(guard.isFull).toBe(true);
    load = { heap: 0.2 };
    vi.advanceTimersByTime(LIMITS.sampleEveryMs);
    expect(guard.isFull).toBe(false);
  });

  test('it looks no more once it is closed', () => {
    guard.close();
    load = { heap: 1 };
    vi.advanceTimersByTime(10 * LIMITS.sampleEveryMs);
    expect([guard.isFull, vi.getTimerCount()]).toEqual([false, 0]);
  });
});

test('of this process the heap is a part of its limit, and grows with what is kept', () => {
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
