import { expect, it } from 'vitest';
import { costsTooMuch } from '../../../src/ton/parse-answer.ts';

const nested = (depth: number) => Buffer.from(`${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`);

it.each([
  ['10 000 levels', nested(10_000), false],
  ['10 002 levels', nested(10_002), true],
  ['more levels than that one after the other', Buffer.from(`[${'[],'.repeat(20_000)}1]`), false],
  ['500 000 values', Buffer.from(`[${'1,'.repeat(499_999)}1]`), false],
  ['500 001 values', Buffer.from(`[${'1,'.repeat(500_000)}1]`), true],
  ['half of them empty objects', Buffer.from(`[${'{},'.repeat(250_000)}{}]`), true],
  ['commas in a string', Buffer.from(`["${','.repeat(500_001)}"]`), false],
  ['brackets in a string', Buffer.from(`["${'['.repeat(20_000)}"]`), false],
  ['brackets in a string behind an escaped quote', Buffer.from(`["\\"${'['.repeat(20_000)}"]`), false],
  ['brackets behind a string that ends with a backslash', Buffer.from(`["\\\\",${'['.repeat(20_000)}`), true],
])('detects that JSON costs too much to parse: %s', (_, json, expected) => {
  expect(costsTooMuch(json)).toBe(expected);
});
