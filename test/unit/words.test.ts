import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// One word, one meaning (src/README.md has the list): ambiguous words and former names must not come back.

/** Words that once had several meanings. Each of these meanings now has its own word. */
const MANY_MEANINGS = ['held', 'late'];

/** Names that have been replaced. */
const FORMER_NAMES = [
  ...['OperationAnswers', 'IndexerAsker', 'IndexerQuestion', 'Obtained', 'MemoryGuard', 'AdminGuardOptions'],
  ...['sharedHead', 'guardReading', 'guardAdmin', 'refuseWith', 'onAsked', 'wasAsked', 'leftSeconds', 'budgetLeftMs'],
  ...[
    'askInTurn',
    'inTurn',
    'HeldAnswers',
    'AskedIndexer',
    'askedMs',
    'lastAskedAt',
    'REGRESSION_GUARD_MS',
    'STORED_HEAD',
  ],
  ...['GZIP_ASKED', 'PLAIN_ASKED', 'leftMs', 'bytesLeft', 'headLength', 'refreshesLeft', 'refuseConnection'],
];

/** Names of metrics, settings, faults and columns. They are public, so they may contain these words. */
const PROMISED = /took of late\.'|'late p99 ms'|'answers-late'/g;

const ROOT = new URL('../../', import.meta.url);
const FILES = ['src/', 'test/'].flatMap((folder) =>
  readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && path !== 'unit/words.test.ts')
    .map((path) => ({ path: folder + path, text: readFileSync(new URL(folder + path, ROOT), 'utf8') })),
);

/** Finds a word, as it is and as a part of a name: `late`, `isLate`, `LATE_MS`, but not `later` or `translate`. */
function usesOf(word: string, text: string): string[] {
  const capitalized = word.charAt(0).toUpperCase() + word.slice(1);
  const use = new RegExp(
    `(?<![A-Za-z])${word}(?![a-z])|(?<![A-Z])${capitalized}(?![a-z])|(?<![A-Za-z])${word.toUpperCase()}(?![A-Za-z])`,
    'g',
  );
  return text.match(use) ?? [];
}

it('the search finds a word in any place of a name, and in no other word', () => {
  expect(usesOf('late', 'late isLate lateMs #late LATE_MS later latest translate LATEST isLatest')).toHaveLength(5);
  expect(FILES.length).toBeGreaterThan(400);
});

it.each(MANY_MEANINGS)('the ambiguous word %s is in no name, comment or text', (word) => {
  const uses = FILES.flatMap(({ path, text }) => usesOf(word, text.replace(PROMISED, '')).map((use) => [path, use]));
  expect(uses).toEqual([]);
});

it.each(FORMER_NAMES)('the former name %s is not used', (name) => {
  const uses = FILES.filter(({ text }) => new RegExp(`\\b${name}\\b`).test(text)).map(({ path }) => path);
  expect(uses).toEqual([]);
});
