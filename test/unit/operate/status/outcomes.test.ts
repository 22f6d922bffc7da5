import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REQUEST_OUTCOMES } from '../../../../src/answer/phase.ts';

const PAGE = new URL('../../../../src/operate/status/page/', import.meta.url);
const pageFile = (name: string) => readFileSync(new URL(name, PAGE), 'utf8');

test('the chart of the status page has each outcome of a request, in a color of its own', () => {
  const [, list = ''] = /const OUTCOMES = \[([^\]]*)\]/.exec(pageFile('charts.js')) ?? [];
  const shown = [...list.matchAll(/'([a-z-]+)'/g)].map(([, name]) => name);
  // Refusals are failures of toncache's own choice, which the page shows apart.
  expect(shown.toSorted()).toEqual([...REQUEST_OUTCOMES, 'refused'].toSorted());
  const colors = [...pageFile('status.css').matchAll(/--c(\d+): ([^;]+);/g)];
  expect(colors.map(([, index]) => Number(index))).toEqual(shown.map((_, at) => at + 1));
  expect(new Set(colors.map(([, , value]) => value)).size).toBe(shown.length);
});
