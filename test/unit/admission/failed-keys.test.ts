import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { FailedKeys } from '../../../src/admission/operation-breakers.ts';

const WINDOW_MS = 10_000;

let now = 0;
let keys: FailedKeys;

const newKeys = () => new FailedKeys({ now: () => now, failureRate: 0.5, minimumThroughput: 20, windowMs: WINDOW_MS });

beforeEach(() => {
  now = 0;
  keys = newKeys();
});

/** Whether one of so many requests, each for a key of its own, opened the breaker. */
function add(times: number, failed: boolean, name = `${failed}`): boolean {
  return Array.from({ length: times }, (_, n) => keys.add(`${name} ${n}`, failed)).includes(true);
}

test('one broken key opens no breaker, however often it is requested', () => {
  for (let n = 0; n < 1000; n++) {
    now += 7;
    expect(keys.add('the broken one', true)).toBe(false);
  }
  expect([add(9, false), add(9, true)]).toEqual([false, false]);
  expect(add(1, true, 'one more')).toBe(true);
});

test('a limited number of keys is remembered, and the newest decide', () => {
  expect([add(5000, false), add(998, true)]).toEqual([false, false]);
  expect(add(1002, true, 'another')).toBe(true);
});

test('a key has failed until it succeeds, or for the window at most', () => {
  keys.add('one', true);
  keys.add('other', true);
  keys.add('other', false);
  expect([keys.hasFailed('one'), keys.hasFailed('other')]).toEqual([true, false]);
  now = WINDOW_MS;
  expect(keys.hasFailed('one')).toBe(false);
});

test('a breaker opens exactly when the last outcomes of the keys in the window require it, after any events', () => {
  const request = fc.record({ waitMs: fc.nat(1500), key: fc.nat(40), failed: fc.boolean() });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 150, size: 'max' }), (requests) => {
      now = 0;
      keys = newKeys();
      let last: { at: number; key: number; failed: boolean }[] = [];
      let halfBegan = Number.NEGATIVE_INFINITY;
      for (const { waitMs, key, failed } of requests) {
        now += waitMs;
        // Every half of a window, what is older than that half is forgotten.
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
