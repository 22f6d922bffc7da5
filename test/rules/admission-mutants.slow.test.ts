import { expect, inject, test } from 'vitest';
import { RULES } from './admission-rules.ts';
import { runPatched } from './run-patched.ts';

const redisUrl = inject('redisUrl');

test('all named tests pass in the unchanged source', async () => {
  const files = [...new Set(RULES.map(({ test: [file] }) => file))];
  const titles = RULES.map(({ test: [, title] }) => title);
  const { passed, failed } = await runPatched(redisUrl, undefined, files, titles);
  expect(failed).toEqual([]);
  for (const title of titles)
    expect(
      passed.filter((each) => each.includes(title)),
      title,
    ).not.toEqual([]);
});

test.each(RULES.map((rule) => [rule.rule, rule] as const))('a test fails without it: %s', async (_, broken) => {
  const {
    test: [file, title],
    ...patch
  } = broken;
  const { failed } = await runPatched(redisUrl, patch, [file], [title]);
  expect(failed.filter((each) => each.includes(title))).not.toEqual([]);
});
