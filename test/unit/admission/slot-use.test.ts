import { beforeEach, describe, expect, test } from 'vitest';
import { SlotUse } from '../../../src/admission/slots.ts';

const PATIENCE_MS = 1500;
let now: number;
let use: SlotUse;

beforeEach(() => {
  now = 10_000;
  use = new SlotUse({ now: () => now, patienceMs: PATIENCE_MS });
});

/** So many requests at once that take this long. */
function answer(count: number, ms: number): void {
  for (let n = 0; n < count; n++) use.begin();
  now += ms;
  for (let n = 0; n < count; n++) use.end(true);
}

describe('the wait for a slot', () => {
  test('is those ahead times the time of a request, divided by the slots in use', () => {
    answer(8, 50);
    for (let n = 0; n < 4; n++) use.begin();
    expect(use.waitMs(80)).toBeCloseTo((80 * 50) / 4);
  });

  test('is not known while no request has ended, and too long after the patience', () => {
    expect(use.waitMs(1)).toBeUndefined();
    use.begin();
    now += PATIENCE_MS;
    expect(use.waitMs(1)).toBeUndefined();
    now += 1;
    expect(use.waitMs(1)).toBe(Number.POSITIVE_INFINITY);
  });

  test('is not known either after two seconds without requests', () => {
    answer(1, 50);
    now += 2000;
    use.begin();
    expect(use.waitMs(1)).toBeUndefined();
  });

  test('counts the age of requests that are not answered', () => {
    answer(1, 100);
    use.begin();
    now += 700;
    expect(use.waitMs(1)).toBeCloseTo(800);
  });

  test('forgets a cold first answer', () => {
    answer(1, 2500);
    now += 1500;
    answer(64, 50);
    use.begin();
    expect(use.waitMs(1)).toBeLessThan(60);
  });

  test('is not known from the first answers of many requests', () => {
    for (let n = 0; n < 64; n++) use.begin();
    now += 20;
    for (let n = 0; n < 20; n++) {
      use.end(true);
      use.begin();
    }
    expect(use.waitMs(236)).toBeUndefined();
  });

  test('leaves out requests that were never sent', () => {
    use.begin();
    use.end(false);
    expect(use.waitMs(1)).toBeUndefined();
  });
});
