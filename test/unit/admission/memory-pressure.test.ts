import { beforeEach, describe, expect, test, vi } from 'vitest';
import { containerLimitBytes, MemoryPressure, type ProcessLoad } from '../../../src/admission/memory-pressure.ts';

describe('the pressure on memory', () => {
  let now = 0;
  let load: ProcessLoad = { heap: 0, memory: 0 };
  const collect = vi.fn(() => {});
  const makeRoom = vi.fn(() => {});
  const limits = { maxMemory: 0.85, maxReadingBytes: 1000 };
  const pressureOf = () => new MemoryPressure({ now: () => now, sample: () => load, collect, makeRoom, ...limits });

  beforeEach(() => {
    now = 0;
    collect.mockReset();
    makeRoom.mockReset();
  });

  test.each([
    ['is not full with free memory', { heap: 0.2, memory: 0.3 }, false],
    ['is not full at both limits', { heap: 0.85, memory: 0.85 }, false],
    ['is full with its heap above the limit', { heap: 0.851, memory: 0 }, true],
    ['is full with more of its container than it may have', { heap: 0, memory: 0.851 }, true],
    ['is not full while nothing is known', { heap: Number.NaN, memory: Number.NaN }, false],
  ])('a process %s', (_, sampled, isFull) => {
    load = sampled;
    expect(pressureOf().isFull).toBe(isFull);
  });

  test('refuses loads while too much of answers is being read, though the process is not full', () => {
    load = { heap: 0, memory: 0 };
    const pressure = pressureOf();
    pressure.onReading(1001);
    expect([pressure.isFull, pressure.refusesLoads]).toEqual([false, true]);
    pressure.onReading(-1);
    expect(pressure.refusesLoads).toBe(false);
  });

  test('takes one sample in 10 ms, and refusals end by themselves', () => {
    load = { heap: 0, memory: 0 };
    const pressure = pressureOf();
    expect(pressure.isFull).toBe(false);
    load = { heap: 1, memory: 0 };
    now = 9;
    expect(pressure.isFull).toBe(false);
    now = 10;
    expect(pressure.isFull).toBe(true);
    load = { heap: 0, memory: 0 };
    now = 20;
    expect(pressure.isFull).toBe(false);
  });

  test('evicts each 0.5 s and collects garbage each 5 s while full, and is not full if that was enough', () => {
    load = { heap: 1, memory: 0 };
    const pressure = pressureOf();
    for (now = 0; now < 10_000; now += 10) {
      pressure.makeRoomIfFull();
      expect(pressure.isFull).toBe(true);
    }
    expect(collect).toHaveBeenCalledTimes(2);
    expect(makeRoom).toHaveBeenCalledTimes(20);
    collect.mockImplementation(() => {
      load = { heap: 0, memory: 0 };
    });
    pressure.makeRoomIfFull();
    expect(pressure.isFull).toBe(false);
  });

  test('evicts and collects nothing because it is asked whether the process is full, nor while it is not', () => {
    const pressure = pressureOf();
    load = { heap: 1, memory: 0 };
    expect([pressure.isFull, pressure.refusesLoads]).toEqual([true, true]);
    now += 10_000;
    expect([pressure.isFull, pressure.refusesLoads]).toEqual([true, true]);
    load = { heap: 0, memory: 0 };
    now += 10_000;
    pressure.makeRoomIfFull();
    expect([makeRoom, collect].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
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
