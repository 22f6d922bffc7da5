import { expect, test } from 'vitest';
import { fingerprints } from '../../../src/cache/entry.ts';
import { OlderAnswers } from '../../../src/cache/older-answers.ts';
import { anEntry } from '../../support/entry.ts';

const MEMBERS = fingerprints(Array.from({ length: 8200 }, (_, row) => `row ${row}`));
const NONE = Buffer.alloc(0);

function entryOf(key: string, rows: number) {
  const completeness = { rank: rows === 0 ? 0 : 2, members: MEMBERS.subarray(0, rows * 8), tentative: NONE };
  return anEntry({ key, completeness });
}

/** How many of `keys` keys are remembered after a list of `rows` rows was served for each of them. */
function remembered(keys: number, rows: number): number {
  let olderAnswers = 0;
  const subject = new OlderAnswers(() => void olderAnswers++);
  for (let key = 0; key < keys; key++) subject.look(entryOf(`key ${key}`, rows));
  for (let key = keys - 1; key >= 0; key--) subject.look(entryOf(`key ${key}`, 0));
  return olderAnswers;
}

test('an answer with fewer rows than the previous one is counted once', () => {
  let olderAnswers = 0;
  const subject = new OlderAnswers(() => void olderAnswers++);
  for (const rows of [2, 3, 1, 1, 0, 0, 2, 3]) subject.look(entryOf('key', rows));
  expect(olderAnswers).toBe(2);
});

test('an answer with an older state than the previous one is counted once', () => {
  let olderAnswers = 0;
  const subject = new OlderAnswers(() => void olderAnswers++);
  for (const lt of [2n ** 53n, 2n ** 53n + 1n, 2n ** 53n, 2n ** 63n, 0n, 0n]) {
    subject.look(anEntry({ completeness: { order: lt, rank: 0, members: NONE, tentative: NONE } }));
  }
  expect(olderAnswers).toBe(2);
});

test('at most 1 MiB of keys and rows is remembered, enough for 4000 keys with one row', () => {
  expect(remembered(10_000, 1)).toBeGreaterThan(4000);
  for (const rows of [1, 100, 4000, 8000]) expect(remembered(2000, rows) * rows * 8).toBeLessThanOrEqual(1024 * 1024);
  expect(remembered(100, 4000)).toBeGreaterThan(20);
});

test('a list of more than 64 KiB is not remembered', () => {
  expect(remembered(10, 8200)).toBe(0);
});
