import { expect, test } from 'vitest';
import { listSettings } from '../../../src/config/load.ts';
import { renderDocs } from '../../../src/config/render-docs.ts';

test('the README and the JSON Schema are those of the settings: run "npm run docs" when they are not', () => {
  for (const { file, expected, actual } of renderDocs()) expect(actual, file.pathname).toBe(expected);
});

test('the README names every variable and every setting of the file', () => {
  const readme = renderDocs()[0]?.expected ?? '';
  for (const { env, path } of listSettings()) expect(readme).toContain(`\`${env ?? path.join('.')}\``);
});

test('the JSON Schema has no place for secrets and requires nothing', () => {
  const text = renderDocs()[1]?.expected ?? '';
  const { properties } = JSON.parse(text);
  expect(text).not.toContain('"required"');
  expect(Object.keys(properties.upstream.properties)).not.toContain('apiKey');
  expect(Object.keys(properties.redis.properties)).not.toContain('url');
});
