import os from 'node:os';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { containerLimitBytes, ProcessGuard, type ProcessLoad } from '../../../src/admission/process-guard.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';

const LIMITS = { maxMemory: 0.85, sampleEveryMs: 500 };

describe('the guard, by injected samples', () => {
  let load: ProcessLoad;
  let guard: ProcessGuard;

  beforeEach(() => {
    vi.useFakeTimers();
    load = { heap: 0.2, memory: 0 };
    guard = new ProcessGuard(LIMITS, () => load);
  });

  afterEach(() => {
    guard.close();
    vi.useRealTimers();
  });

  test.each([
    ['is not full with free memory', { heap: 0.2, memory: 0.3 }, false],
    ['is not full at both limits', { heap: 0.85, memory: 0.85 }, false],
    ['is full with its heap above the limit', { heap: 0.851, memory: 0 }, true],
    ['is full with more of its container than it may have', { heap: 0, memory: 0.851 }, true],
    ['is not full while nothing is known', { heap: Number.NaN, memory: Number.NaN }, false],
  ])('a process %s', (_, sampled, isFull) => {
    load = sampled;
    guard.update();
    expect([guard.isFull, guard.load]).toEqual([isFull, load]);
  });

  test('memory is sampled at the interval, and refusals end by themselves', () => {
    load = { heap: 1, memory: 0 };
    vi.advanceTimersByTime(LIMITS.sampleEveryMs - 1);
    expect(guard.isFull).toBe(false);
    vi.advanceTimersByTime(1);
    expect(guard.isFull).toBe(true);
    load = { heap: 0.2, memory: 0 };
    vi.advanceTimersByTime(LIMITS.sampleEveryMs);
    expect(guard.isFull).toBe(false);
  });

  test('memory is no longer sampled once the guard is closed', () => {
    guard.close();
    load = { heap: 1, memory: 1 };
    vi.advanceTimersByTime(10 * LIMITS.sampleEveryMs);
    expect([guard.isFull, vi.getTimerCount()]).toEqual([false, 0]);
  });
});

describe('the memory of this process', () => {
  test('the heap is a part of its limit, and grows with what the process keeps', () => {
    const guard = new ProcessGuard(LIMITS);
    collectGarbage();
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

  test('bodies, which are outside the heap, count against the limit of the container', () => {
    const limitBytes = 64 * 1024 ** 3;
    vi.spyOn(process, 'constrainedMemory').mockReturnValue(limitBytes);
    vi.spyOn(os, 'totalmem').mockReturnValue(2 * limitBytes);
    const guard = new ProcessGuard(LIMITS);
    guard.update();
    const before = guard.load;
    const body = Buffer.alloc(128 * 1024 ** 2, 1);
    guard.update();
    const after = guard.load;
    guard.close();
    expect(body).toHaveLength(128 * 1024 ** 2);
    expect((after.memory - before.memory) * limitBytes).toBeGreaterThan(100 * 1024 ** 2);
    expect(after.memory).toBeLessThan(1);
  });
});

describe('the limit of a container', () => {
  const MACHINE = 16 * 1024 ** 3;

  test.each([
    ['is what the cgroup says', 512 * 1024 ** 2, 512 * 1024 ** 2],
    ['is unknown where Node does not know it', 0, undefined],
    ['is none in a cgroup v1 without a limit', 2 ** 63 - 4096, undefined],
    ['is none in a cgroup v2 without a limit', 2 ** 64, undefined],
    ['is none where it is all that the machine has', MACHINE, undefined],
  ])('%s', (_, constrainedBytes, expected) => {
    expect(containerLimitBytes(constrainedBytes, MACHINE)).toBe(expected);
  });
});
