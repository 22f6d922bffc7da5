import { expect, it } from 'vitest';
import { nestsTooDeep } from '../../../src/ton/nesting.ts';

const nested = (depth: number) => Buffer.from(`${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`);

it.each([
  ['10 000 levels', nested(10_000), false],
  ['10 002 levels', nested(10_002), true],
  ['more levels than that one after the other', Buffer.from(`[${'[],'.repeat(20_000)}1]`), false],
  ['brackets in a string', Buffer.from(`["${'['.repeat(20_000)}"]`), false],
  ['brackets in a string behind an escaped quote', Buffer.from(`["\\"${'['.repeat(20_000)}"]`), false],
  ['brackets behind a string that ends with a backslash', Buffer.from(`["\\\\",${'['.repeat(20_000)}`), true],
])('tells whether JSON nests too deep: %s', (_, json, expected) => {
  expect(nestsTooDeep(json)).toBe(expected);
});
