import { beforeEach, expect, test } from 'vitest';
import { Touches } from '../../../src/proof/touches.ts';
import type { BlockRow } from '../../../src/ton/block-facts.ts';

const KEPT_MS = 362_000;

let now: number;

beforeEach(() => {
  now = 1000;
});

const touchesWith = (maxBytes = 2 ** 26) => new Touches({ now: () => now, keptMs: KEPT_MS, maxBytes });
const row = (account: string, hash: string): BlockRow => ({ account, hash, lt: 1n, now: 0, seqno: 7 });
const hashesOf = (touches: Touches, account: string, from = 0) =>
  [...touches.since(account, from)].map(({ hash }) => hash);

test('the touches of an account are those since an instant, the newest first', () => {
  const touches = touchesWith();
  for (const hash of ['one', 'two', 'three']) {
    touches.add([row('A', hash), row('B', `of B: ${hash}`)]);
    now += 10;
  }
  expect(hashesOf(touches, 'A')).toEqual(['three', 'two', 'one']);
  expect(hashesOf(touches, 'A', 1010)).toEqual(['three', 'two']);
  expect([touches.lastOf('A'), touches.lastOf('C')]).toEqual([1020, undefined]);
});

test('touches are kept for their time, and then forgotten together with their memory', () => {
  const touches = touchesWith();
  touches.add([row('A', 'old'), row('A', 'old, too'), row('B', 'old')]);
  now += KEPT_MS - 1;
  touches.add([row('A', 'new')]);
  expect(hashesOf(touches, 'A')).toHaveLength(3);
  expect(touches.forgottenUntil).toBe(Number.NEGATIVE_INFINITY);
  now += 1;
  touches.add([row('A', 'newest')]);
  expect([hashesOf(touches, 'A'), hashesOf(touches, 'B')]).toEqual([['newest', 'new'], []]);
  expect(touches.forgottenUntil).toBe(1000);
  const two = touchesWith();
  for (const hash of ['new', 'newest']) two.add([row('A', hash)]);
  expect(touches.bytes).toBe(two.bytes);
});

test('above the bound on memory the oldest touches are forgotten', () => {
  const touches = touchesWith(10_000);
  for (let n = 0; n < 100; n++) {
    now++;
    touches.add([row(`${n}`, `${n}`)]);
  }
  expect(touches.bytes).toBeLessThanOrEqual(10_000);
  expect(touches.forgottenUntil).toBeGreaterThan(1000);
  const isKept = (n: number) => touches.lastOf(`${n}`) !== undefined;
  // Touches are complete after the instant until which they are forgotten.
  expect(Array.from({ length: 100 }, (_, n) => isKept(n))).toEqual(
    Array.from({ length: 100 }, (_, n) => 1001 + n > touches.forgottenUntil),
  );
});

test('no transaction is no touch', () => {
  const touches = touchesWith();
  touches.add([]);
  expect(touches.bytes).toBe(0);
});
