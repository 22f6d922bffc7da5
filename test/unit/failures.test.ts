import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { type ErrorCode, failure, overloaded } from '../../src/errors.ts';
import { FAILURES } from '../../src/failures/codes.ts';
import { REFUSED, REFUSED_REASONS } from '../../src/failures/refusals.ts';
import { retryAfterSeconds } from '../../src/failures/retry-after.ts';
import { sentenceOf } from '../../src/failures/sentence.ts';

const CODES = Object.keys(FAILURES) as ErrorCode[];
const TEXTS = [
  ...CODES.flatMap((code) => Object.values<string>(FAILURES[code].clientReads)),
  ...REFUSED_REASONS.map((reason) => REFUSED[reason].clientReads),
];

describe('the registry of failures', () => {
  it('has a sentence for clients and one for the operator, for each code and each reason', () => {
    const all = [...CODES.map((code) => FAILURES[code]), ...REFUSED_REASONS.map((reason) => REFUSED[reason])];
    expect(all.filter((row) => sentenceOf(row) === '' || /[{}]/.test(sentenceOf(row)))).toEqual([]);
    expect(TEXTS.filter((text) => text === '')).toEqual([]);
  });

  it('gives each 503 and 429 a Retry-After', () => {
    const busy = CODES.filter((code) => [503, 429].includes(FAILURES[code].status));
    expect(busy).toEqual(['too-many-requests', 'overloaded', 'shutting-down', 'upstream-rate-limited']);
    const seconds = busy.map((code) => failure(code, { waitMs: 1500, chance: 0 }).details.retryAfterSeconds);
    expect(seconds).toEqual([2, 2, 1, 2]);
  });
});

describe('the rest of the source', () => {
  const ROOT = new URL('../../src/', import.meta.url);
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    // The tools and the command line have their own texts for errors.
    .filter((path) => path.endsWith('.ts') && !/^(?:failures|tools|cli)\//.test(path))
    .map((path) => ({
      path,
      text: readFileSync(new URL(path, ROOT), 'utf8').replace(/\/\*\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, ''),
    }));

  it('contains no text of a failure', () => {
    const fixed = TEXTS.flatMap((text) => text.split(/\{\w+\}/)).filter((part) => part.length > 15);
    const operators = [...CODES.map((code) => FAILURES[code]), ...REFUSED_REASONS.map((reason) => REFUSED[reason])]
      .flatMap(({ operatorReads }) => operatorReads.split('{indexer}'))
      .filter((part) => part.length > 15);
    expect(fixed.length).toBeGreaterThan(40);
    const worded = files.flatMap(({ path, text }) =>
      [...fixed, ...operators].filter((part) => text.includes(part)).map((part) => `${path}: ${part}`),
    );
    expect(worded).toEqual([]);
  });

  it('creates failures through the registry, except invalid requests, whose texts come from the parser', () => {
    const made = files.flatMap(({ path, text }) =>
      [...text.matchAll(/new ProxyError\(\s*(\S+?),/g)].map(([, code]) => `${path}: ${code}`),
    );
    expect(made.filter((each) => !each.endsWith("'invalid-request'") && !each.startsWith('errors.ts:'))).toEqual([]);
  });

  it('computes no Retry-After', () => {
    const makes = files.filter(({ text }) => /retryAfterSeconds:(?! (?:z\.|retryAfterSeconds\())/.test(text));
    expect(makes.map(({ path }) => path).filter((path) => path !== 'errors.ts')).toEqual([]);
  });
});

test.each([
  ['none', 5000, 0.9, undefined],
  ['1 s', 5000, 0.9, 1],
  ['the wait', 1, 0.9, 1],
  ['the wait', 7001, 0.9, 8],
  ['the wait', 1e9, 0, 3600],
  ['the wait, or 1 to 3 s', 7001, 0.9, 8],
  ['the wait, or 1 to 3 s', 0, 0, 1],
  ['the wait, or 1 to 3 s', 0, 0.5, 2],
  ['the wait, or 1 to 3 s', 0, 0.999, 3],
  ["the indexer's", 0, 0.9, undefined],
  ["the indexer's", 2500, 0.9, 3],
  ["the indexer's", 1e9, 0.9, 3600],
] as const)(
  'Retry-After by the rule "%s" for a wait of %d ms and the chance %d is %s',
  (rule, waitMs, chance, seconds) => {
    expect(retryAfterSeconds(rule, waitMs, chance)).toBe(seconds);
  },
);

test('a refused request gets the text of its reason and a Retry-After', () => {
  for (const reason of REFUSED_REASONS) {
    if (reason === 'client-limit') continue;
    const { code, message, details } = overloaded(reason, 0.5);
    expect([code, message, details.retryAfterSeconds]).toEqual(['overloaded', REFUSED[reason].clientReads, 2]);
  }
});
