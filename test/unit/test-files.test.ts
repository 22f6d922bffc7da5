import { describe, expect, it } from 'vitest';
import { readSource } from '../support/read-source.ts';
import { retiredWordIn } from '../support/retired-words.ts';

const MOST_LINES = 250;
/** Benches and attacks work in rounds, which are no block sets. */
const FOLDERS = /^(contract|e2e|fault|integration|support|unit)\//;
/** They hold retired words themselves: the list, its test, and the test of settings under their old names. */
const EXCEPT = ['support/retired-words.ts', 'unit/architecture.test.ts', 'unit/config/load.test.ts'];

const files = readSource('test');

describe('test', () => {
  it('has files that these tests see', () => {
    expect(files.map(({ path }) => path)).toContain('unit/test-files.test.ts');
  });

  it(`has no file above ${MOST_LINES} lines`, () => {
    const long = files.filter(({ lines }) => lines > MOST_LINES);
    expect(long.map(({ path, lines }) => `test/${path} has ${lines} lines`)).toEqual([]);
  });

  it('declares no name with a retired word', () => {
    const named = files.filter(({ path }) => FOLDERS.test(path) && !EXCEPT.includes(path));
    const found = named.flatMap(({ path, names }) =>
      [{ name: path.replace(/\.ts$/, ''), line: 1 }, ...names].flatMap(({ name, line }) => {
        const word = retiredWordIn(name);
        return word === undefined ? [] : [`test/${path}:${line} declares ${name}: see the glossary for "${word}"`];
      }),
    );
    expect(found).toEqual([]);
  });
});
