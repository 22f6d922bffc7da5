import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RULES } from './admission-rules.ts';

const inSource = (path: string) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8');

const byName = RULES.map((rule) => [rule.rule, rule] as const);

test.each(byName)('its place stands once in the source: %s', (_, { file, from }) => {
  expect(inSource(file).split(from)).toHaveLength(2);
});

test('the table in src/admission/README.md has these rules, for whom they are, and the tests that fail without them', () => {
  const rows = RULES.map(({ rule, forWhom, test: [file, title], file: source }) => {
    const said = `${rule.charAt(0).toUpperCase()}${rule.slice(1)}`;
    return `| ${said} | ${forWhom} | \`${source}\` | \`${file}\`: ${title} |`;
  });
  const [, table] = /<!-- rules -->\n(.*)\n<!-- \/rules -->/s.exec(inSource('admission/README.md')) ?? [];
  expect(table?.split('\n').slice(2)).toEqual(rows);
});
