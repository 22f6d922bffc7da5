import { expect, test } from 'vitest';
import { renderDocs } from './render-settings.ts';

test('docs/reference/settings.md and the JSON Schema match the settings; "npm run docs" renders them', () => {
  for (const { file, expected, actual } of renderDocs()) expect(actual, file.pathname).toBe(expected);
});

test('the JSON Schema has no properties for secrets and requires no property', () => {
  const text = renderDocs()[1]?.expected ?? '';
  const { properties } = JSON.parse(text);
  expect(text).not.toContain('"required"');
  expect(Object.keys(properties.upstream.properties)).not.toContain('apiKey');
  expect(Object.keys(properties.redis.properties)).not.toContain('url');
});
