import { beforeEach, describe, expect, test } from 'vitest';
import { SlotUse } from '../../../src/admission/slots.ts';

const PATIENCE_MS = 1500;
let now: number;
let use: SlotUse;

beforeEach(() => {
  now = 10_000;
  use = new SlotUse({ now: () => now, patienceMs: PATIENCE_MS });
});

/** Sends `count` requests at once, all of which end after `ms`. */
function answer(count: number, ms: number): void {
  for (let n = 0; n < count; n++) use.begin();
  now += ms;
  for (let n = 0; n < count; n++) use.end(true);
}

describe('the wait for a slot', () => {
  test('is unknown after two seconds without requests', () => {
    answer(1, 50);
    now += 2000;
    use.begin();
    expect(use.waitMs(1)).toBeUndefined();
  });

  test('includes the age of unanswered requests', () => {
    answer(1, 100);
    use.begin();
    now += 700;
    expect(use.waitMs(1)).toBeCloseTo(800);
  });

  test('ignores requests that were never sent', () => {
    use.begin();
    use.end(false);
    expect(use.waitMs(1)).toBeUndefined();
  });
});
