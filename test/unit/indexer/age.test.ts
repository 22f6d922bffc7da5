import { expect, test } from 'vitest';
import { ageValueSeconds } from '../../../src/indexer/age.ts';

test.each<[string, string | undefined, number]>([
  ['seconds', '7', 7],
  ['seconds among blanks', ' \t007 ', 7],
  ['the first of several values', '5, 70', 5],
  ['a number beyond numbers', '9'.repeat(400), 2 ** 31],
  ['nothing', undefined, 0],
  ['an empty text', '', 0],
  ['an empty first value', ', 7', 0],
  ['a first value that is no number', 'x, 7', 0],
  ['words', 'old', 0],
  ['a fraction', '1.5', 0],
  ['a sign', '-5', 0],
  ['another sign', '+5', 0],
  ['an exponent', '1e3', 0],
  ['hexadecimal digits', '0x10', 0],
  ['two numbers', '5 7', 0],
  ['digits of another script', '٧', 0],
])('Age is read from %s', (_, header, seconds) => {
  expect(ageValueSeconds(header)).toBe(seconds);
});
