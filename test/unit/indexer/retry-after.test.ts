import { expect, test } from 'vitest';
import { retryAfterMs } from '../../../src/indexer/retry-after.ts';

const NOW = Date.UTC(2026, 0, 1);

test.each<[string, string | undefined, number | undefined]>([
  ['seconds', '7', 7000],
  ['seconds among spaces', ' 7 ', 7000],
  ['a date', new Date(NOW + 7000).toUTCString(), 7000],
  ['a number beyond numbers', '9'.repeat(400), Number.POSITIVE_INFINITY],
  ['nothing', undefined, undefined],
  ['an empty text', '', undefined],
  ['no time at all', '0', undefined],
  ['a date that has passed', new Date(NOW - 7000).toUTCString(), undefined],
  ['words', 'soon', undefined],
  ['several values', '5, 7', undefined],
  ['a fraction', '1.5', undefined],
  ['a minus', '-5', undefined],
  ['an exponent', '1e3', undefined],
])('Retry-After is read from %s', (_, header, ms) => {
  expect(retryAfterMs(header, NOW)).toBe(ms);
});
