import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// One word, one meaning: src/README.md says which. What had several meanings, or another name now, does not come back.

/** Words that had several meanings each, so that every one of these has a word of its own now. */
const MANY_MEANINGS = ['held', 'late'];

/** Names that have become others. */
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

/** Names of metrics, settings, faults and columns, which stay as they are. */
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

it('finds a word wherever it stands in a name, and in no other word', () => {
  expect(usesOf('late', 'late isLate lateMs #late LATE_MS later latest translate LATEST isLatest')).toHaveLength(5);
  expect(FILES.length).toBeGreaterThan(400);
});

it.each(MANY_MEANINGS)('%s is in no name, comment or text', (word) => {
  const uses = FILES.flatMap(({ path, text }) => usesOf(word, text.replace(PROMISED, '')).map((use) => [path, use]));
  expect(uses).toEqual([]);
});

it.each(FORMER_NAMES)('%s has another name now', (name) => {
  const uses = FILES.filter(({ text }) => new RegExp(`\\b${name}\\b`).test(text)).map(({ path }) => path);
  expect(uses).toEqual([]);
});
