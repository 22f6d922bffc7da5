import { expect, test } from 'vitest';
import { renderSavings } from './render-savings.ts';

test.each(renderSavings().map((doc) => [doc.file.pathname.split('/docs/').at(-1), doc] as const))(
  'docs/%s has the saving of docs/background/benchmarks.md; "npm run docs" renders it',
  (_, { expected, actual }) => expect(actual).toBe(expected),
);
