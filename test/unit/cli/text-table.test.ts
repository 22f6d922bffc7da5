import { expect, test } from 'vitest';
import { duration, textTable } from '../../../src/cli/text-table.ts';

test('columns are as wide as their longest cell, and numbers end on the right', () => {
  const table = textTable(
    ['name', 'count'],
    [
      ['a', '1,000'],
      ['longest', '7'],
    ],
  );
  expect(table).toBe('name     count\na        1,000\nlongest      7\n');
});

test.each([
  [0, '0 ms'],
  [400, '400 ms'],
  [1500, '1.5 s'],
  [600_000, '10 min'],
  [86_400_000, '24 h'],
  [30 * 86_400_000, '30 d'],
  [-4000, '-4 s'],
])('%d milliseconds are %s', (ms, text) => expect(duration(ms)).toBe(text));
