import { expect, test } from 'vitest';
import { ageValueSeconds, isAged } from '../../../src/indexer/age.ts';

test.each<[string, string | undefined, number]>([
  ['seconds', '7', 7],
  ['seconds between blanks', ' \t007 ', 7],
  ['several values, of which the first counts', '5, 70', 5],
  ['a number that is too large', '9'.repeat(400), 2 ** 31],
  ['nothing', undefined, 0],
  ['an empty value', '', 0],
  ['an empty first value', ', 7', 0],
  ['a first value that is not a number', 'x, 7', 0],
  ['words', 'old', 0],
  ['a fraction', '1.5', 0],
  ['a minus sign', '-5', 0],
  ['a plus sign', '+5', 0],
  ['an exponent', '1e3', 0],
  ['hexadecimal digits', '0x10', 0],
  ['two numbers', '5 7', 0],
  ['digits of another script', '٧', 0],
])('an Age header with %s is read as its seconds, or as 0 if it is invalid', (_, header, seconds) => {
  expect(ageValueSeconds(header)).toBe(seconds);
});

test.each([
  ['0', true],
  ['7', true],
  [undefined, false],
  ['x', false],
])('an answer with the Age %s may have been in another cache: %s', (header, expected) => {
  expect(isAged(header)).toBe(expected);
});
