import { expect, it } from 'vitest';
import { costsTooMuch } from '../../../src/ton/parse-answer.ts';

const nested = (depth: number) => Buffer.from(`${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`);

it.each([
  ['accepts 10 000 levels', nested(10_000), false],
  ['rejects 10 002 levels', nested(10_002), true],
  ['accepts 20 000 lists next to each other', Buffer.from(`[${'[],'.repeat(20_000)}1]`), false],
  ['accepts 500 000 values', Buffer.from(`[${'1,'.repeat(499_999)}1]`), false],
  ['rejects 500 001 values', Buffer.from(`[${'1,'.repeat(500_000)}1]`), true],
  ['rejects 250 001 empty objects, because each counts twice', Buffer.from(`[${'{},'.repeat(250_000)}{}]`), true],
  ['accepts 500 001 commas in a string', Buffer.from(`["${','.repeat(500_001)}"]`), false],
  ['accepts 20 000 brackets in a string', Buffer.from(`["${'['.repeat(20_000)}"]`), false],
  ['accepts 20 000 brackets in a string after an escaped quote', Buffer.from(`["\\"${'['.repeat(20_000)}"]`), false],
  [
    'rejects 20 000 brackets after a string that ends with an escaped backslash',
    Buffer.from(`["\\\\",${'['.repeat(20_000)}`),
    true,
  ],
])('the check of the parse cost %s', (_, json, expected) => {
  expect(costsTooMuch(json)).toBe(expected);
});
