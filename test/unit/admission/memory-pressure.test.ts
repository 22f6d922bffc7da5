import { beforeEach, describe, expect, test, vi } from 'vitest';
import { containerLimitBytes, MemoryPressure, type ProcessLoad } from '../../../src/admission/memory-pressure.ts';

describe('memory pressure', () => {
  let now = 0;
  let load: ProcessLoad = { heap: 0, memory: 0 };
  const collect = vi.fn(() => {});
  const makeRoom = vi.fn(() => {});
  const limits = { maxMemory: 0.85, maxReadingBytes: 1000 };
  const pressureOf = () => {
    const pressure = new MemoryPressure({ now: () => now, sample: () => load, collect, ...limits });
    pressure.makesRoomBy(makeRoom);
    return pressure;
  };

  beforeEach(() => {
    now = 0;
    collect.mockReset();
    makeRoom.mockReset();
  });

  test.each([
    ['is not full with free memory', { heap: 0.2, memory: 0.3 }, false],
    ['is not full at both limits', { heap: 0.85, memory: 0.85 }, false],
    ['is full with its heap above the limit', { heap: 0.851, memory: 0 }, true],
    ["is full with its container's memory above the limit", { heap: 0, memory: 0.851 }, true],
    ['is not full while its usage is unknown', { heap: Number.NaN, memory: Number.NaN }, false],
  ])('a process %s', (_, sampled, isFull) => {
    load = sampled;
    expect(pressureOf().isFull).toBe(isFull);
  });

  test('refuses loads while too many answer bytes are being read, even if the process is not full', () => {
    load = { heap: 0, memory: 0 };
    const pressure = pressureOf();
    pressure.onReading(1001);
    expect([pressure.isFull, pressure.refusesLoads]).toEqual([false, true]);
    pressure.onReading(-1);
    expect(pressure.refusesLoads).toBe(false);
  });

  test('takes a sample at most every 10 ms, and is no longer full when memory is free again', () => {
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

  test('evicts every 0.5 s and collects garbage every 5 s while full, until a collection frees enough memory', () => {
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

  test('does not evict or collect when its state is only read, or while the process is not full', () => {
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

describe('the memory limit of a container', () => {
  const MACHINE = 16 * 1024 ** 3;

  test.each([
    ['is the limit of its cgroup', 512 * 1024 ** 2, 512 * 1024 ** 2],
    ['is undefined if Node does not know it', 0, undefined],
    ['is undefined in a cgroup v1 without a limit', 2 ** 63 - 4096, undefined],
    ['is undefined in a cgroup v2 without a limit', 2 ** 64, undefined],
    ["is undefined if it is all of the machine's memory", MACHINE, undefined],
  ])('%s', (_, constrainedBytes, expected) => {
    expect(containerLimitBytes(constrainedBytes, MACHINE)).toBe(expected);
  });
});
