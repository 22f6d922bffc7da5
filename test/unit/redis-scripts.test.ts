import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));
/** Some Redis services accept only this form: the command is a literal, and so is the index of its key. */
const LITERAL = /^\('[A-Z]+'(?:\)|, KEYS\[\d+\][,)])/;

it('every redis.call in a script has a literal command and a literal key index', () => {
  const sources = globSync('**/*.ts', { cwd: SRC }).map((name) => readFileSync(SRC + name, 'utf8'));
  const calls = sources.flatMap((text) => text.split(/\bredis\.p?call\b/).slice(1));
  expect(calls.length).toBeGreaterThan(15);
  expect(calls.filter((call) => !LITERAL.test(call))).toEqual([]);
  const keys = sources.flatMap((text) => text.match(/\bKEYS\[\d/g) ?? []);
  expect(keys).toHaveLength(calls.filter((call) => /^\('\w+', KEYS/.test(call)).length);
});
