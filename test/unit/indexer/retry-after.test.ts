import { expect, test } from 'vitest';
import { retryAfterMs } from '../../../src/indexer/retry-after.ts';

const NOW = Date.UTC(2026, 0, 1);

test.each<[string, string | undefined, number | undefined]>([
  ['seconds', '7', 7000],
  ['seconds between spaces', ' 7 ', 7000],
  ['a date', new Date(NOW + 7000).toUTCString(), 7000],
  ['a number that is too large', '9'.repeat(400), Number.POSITIVE_INFINITY],
  ['nothing', undefined, undefined],
  ['an empty value', '', undefined],
  ['zero seconds', '0', undefined],
  ['a date in the past', new Date(NOW - 7000).toUTCString(), undefined],
  ['words', 'soon', undefined],
  ['several values', '5, 7', undefined],
  ['a fraction', '1.5', undefined],
  ['a minus sign', '-5', undefined],
  ['an exponent', '1e3', undefined],
])(
  'a Retry-After header with %s is read as a delay, and ignored unless it is a valid time in the future',
  (_, header, ms) => {
    expect(retryAfterMs(header, NOW)).toBe(ms);
  },
);
