import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HeldSlots } from '../../../src/admission/held-slots.ts';

const HOLD_MS = 1000;

let released: string[];
let held: HeldSlots;

beforeEach(() => {
  vi.useFakeTimers();
  released = [];
  held = new HeldSlots({ release: (operation) => released.push(operation) }, { holdMs: HOLD_MS });
});

afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => void vi.advanceTimersByTime(ms);

function hold(operation: string, sentAt: number, times = 1): void {
  for (let n = 0; n < times; n++) held.hold(operation, { sentAt, endedAt: sentAt + 100 });
}

test('an answer that comes soon after a request was sent may be to an earlier one, and proves nothing', () => {
  held.heard('any', 60);
  hold('any', 50, 2);
  pass(HOLD_MS);
  expect(released).toEqual(['any']);
  held.heard('any', 200);
  expect(released).toEqual(['any', 'any']);
});

describe('held slots of an operation that was answered since their requests were sent', () => {
  test('are free after the hold time, all of them', () => {
    held.heard('any', 100);
    hold('any', 50, 3);
    pass(HOLD_MS - 1);
    expect(released).toEqual([]);
    pass(1);
    expect(released).toEqual(['any', 'any', 'any']);
  });

  test('do not become free sooner when another answer comes', () => {
    held.heard('any', 100);
    hold('any', 50);
    held.heard('any', 200);
    expect(released).toEqual([]);
  });
});

describe('held slots of an operation that was not answered since', () => {
  test.each([undefined, 40, 50])('become free one by one (last answered at %s, sent at 50)', (heardAt) => {
    if (heardAt !== undefined) held.heard('any', heardAt);
    hold('any', 50, 3);
    const counts = [0, 1, 2, 3, 4].map(() => {
      const count = released.length;
      pass(HOLD_MS);
      return count;
    });
    expect(counts).toEqual([0, 1, 2, 3, 3]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('all become free as soon as an answer comes, each once', () => {
    hold('any', 50, 3);
    pass(HOLD_MS);
    held.heard('any', 2000);
    expect(released).toHaveLength(3);
    pass(10 * HOLD_MS);
    expect([released.length, vi.getTimerCount()]).toEqual([3, 0]);
  });

  test('wait for an answer of their own operation', () => {
    hold('hanging', 50, 2);
    held.heard('other', 100);
    expect(released).toEqual([]);
    hold('other', 90);
    pass(HOLD_MS);
    expect(released.toSorted()).toEqual(['hanging', 'other']);
  });

  test('become free one by one again after none was held', () => {
    hold('any', 50);
    pass(HOLD_MS);
    hold('any', 50, 2);
    pass(HOLD_MS);
    expect(released).toHaveLength(2);
    pass(HOLD_MS);
    expect(released).toHaveLength(3);
  });
});

test('held slots do not keep the process alive', () => {
  vi.useRealTimers();
  const unref = vi.spyOn(Object.getPrototypeOf(setTimeout(() => {}, 0)), 'unref');
  hold('any', 50);
  held.heard('other', 100);
  hold('other', 50);
  expect(unref).toHaveBeenCalledTimes(2);
});
