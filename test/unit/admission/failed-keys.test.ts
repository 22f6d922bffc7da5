import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { FailedKeys } from '../../../src/admission/operation-breakers.ts';

const WINDOW_MS = 10_000;

let now = 0;
let keys: FailedKeys;

const newKeys = () => new FailedKeys(() => now, 20);

beforeEach(() => {
  now = 0;
  keys = newKeys();
});

/** Adds one outcome for each of `times` keys; returns true if one of them opens the breaker. */
function add(times: number, failed: boolean, name = `${failed}`): boolean {
  return Array.from({ length: times }, (_, n) => keys.add(`${name} ${n}`, failed)).includes(true);
}

test('one broken key counts once and opens no breaker, however often it is requested', () => {
  for (let n = 0; n < 1000; n++) {
    now += 7;
    expect(keys.add('the broken one', true)).toBe(false);
  }
  expect([add(9, false), add(9, true)]).toEqual([false, false]);
  expect(add(1, true, 'one more')).toBe(true);
});

test('only a limited number of keys is remembered, and the newest ones count', () => {
  expect([add(5000, false), add(998, true)]).toEqual([false, false]);
  expect(add(1002, true, 'another')).toBe(true);
});

test('a key counts as failed until it succeeds, or at most for the window', () => {
  keys.add('one', true);
  keys.add('other', true);
  keys.add('other', false);
  expect([keys.hasFailed('one'), keys.hasFailed('other')]).toEqual([true, false]);
  now = WINDOW_MS;
  expect(keys.hasFailed('one')).toBe(false);
});

test('a failure opens the breaker exactly if at least half of 20 or more recent keys have failed, after any outcomes', () => {
  const request = fc.record({ waitMs: fc.nat(1500), key: fc.nat(40), failed: fc.boolean() });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 150, size: 'max' }), (requests) => {
      now = 0;
      keys = newKeys();
      let last: { at: number; key: number; failed: boolean }[] = [];
      let halfBegan = Number.NEGATIVE_INFINITY;
      for (const { waitMs, key, failed } of requests) {
        now += waitMs;
        // Each half window, outcomes from before the previous half are forgotten; after a whole idle window, all are.
        if (now >= halfBegan + WINDOW_MS / 2) {
          const oldest = now < halfBegan + WINDOW_MS ? halfBegan : now;
          last = last.filter(({ at }) => at >= oldest);
          halfBegan = now;
        }
        last = [...last.filter((each) => each.key !== key), { at: now, key, failed }];
        const failures = last.filter((each) => each.failed).length;
        expect(keys.add(`${key}`, failed)).toBe(failed && last.length >= 20 && failures >= last.length / 2);
      }
    }),
    { numRuns: 300 },
  );
});
