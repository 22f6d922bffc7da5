import { beforeEach, describe, expect, test } from 'vitest';
import { SlotTime } from '../../../src/admission/slot-time.ts';

const PATIENCE_MS = 1500;
let now: number;
let slotTime: SlotTime;

beforeEach(() => {
  now = 10_000;
  slotTime = new SlotTime({ now: () => now }, { patienceMs: PATIENCE_MS });
});

/** So many requests at once that take this long. */
function answer(count: number, ms: number): void {
  for (let n = 0; n < count; n++) slotTime.begin();
  now += ms;
  for (let n = 0; n < count; n++) slotTime.end(true);
}

describe('the wait for a slot', () => {
  test('is those ahead times the time of a request, divided by the slots in use', () => {
    answer(8, 50);
    for (let n = 0; n < 4; n++) slotTime.begin();
    expect(slotTime.waitMs(80)).toBeCloseTo((80 * 50) / 4);
  });

  test('is not known while no request has ended, and too long after the patience', () => {
    expect(slotTime.waitMs(1)).toBeUndefined();
    slotTime.begin();
    now += PATIENCE_MS;
    expect(slotTime.waitMs(1)).toBeUndefined();
    now += 1;
    expect(slotTime.waitMs(1)).toBe(Number.POSITIVE_INFINITY);
  });

  test('is not known either after two seconds without requests', () => {
    answer(1, 50);
    now += 2000;
    slotTime.begin();
    expect(slotTime.waitMs(1)).toBeUndefined();
  });

  test('counts the age of requests that are not answered', () => {
    answer(1, 100);
    slotTime.begin();
    now += 700;
    expect(slotTime.waitMs(1)).toBeCloseTo(800);
  });

  test('forgets a cold first answer', () => {
    answer(1, 2500);
    now += 1500;
    answer(64, 50);
    slotTime.begin();
    expect(slotTime.waitMs(1)).toBeLessThan(60);
  });

  test('is not known from the first answers of many requests', () => {
    for (let n = 0; n < 64; n++) slotTime.begin();
    now += 20;
    for (let n = 0; n < 20; n++) {
      slotTime.end(true);
      slotTime.begin();
    }
    expect(slotTime.waitMs(236)).toBeUndefined();
  });

  test('leaves out requests that were never sent', () => {
    slotTime.begin();
    slotTime.end(false);
    expect(slotTime.waitMs(1)).toBeUndefined();
  });
});
