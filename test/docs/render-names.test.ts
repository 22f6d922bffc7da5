import { expect, test } from 'vitest';
import { startProxy } from '../support/start-proxy.ts';
import { loggedNames, renderNames } from './render-names.ts';

test('docs/reference/names.md matches the code; "npm run docs" renders it', () => {
  const { expected, actual } = renderNames();
  expect(actual).toBe(expected);
});

test('docs/reference/names.md has a line for each event that is logged', () => {
  const { listened, shown } = loggedNames();
  expect(listened.size).toBeGreaterThan(10);
  expect([...listened].filter((name) => !shown.has(name))).toEqual([]);
});

test('the metrics page has the labels that docs/reference/names.md lists', async () => {
  const env = {
    REDIS_URL: 'redis://127.0.0.1:1',
    PASSTHROUGH: 'on',
    CACHE_OPERATIONS: 'all',
  };
  const upstreamUrl = 'http://127.0.0.1:1,http://127.0.0.1:2';
  await using proxy = await startProxy({ upstreamUrl, env });
  await proxy.ask('/api/v3/masterchainBlockShards?seqno=1');
  const { text } = await proxy.askAdmin('/metrics');
  const page = renderNames().actual;
  const listed = new Map(
    [...page.matchAll(/^\| `(toncache_\w+)` \| \w+ \| (.*?) \|/gm)].map(([, name = '', labels = '']) => [
      name,
      [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
    ]),
  );
  const names = [...text.matchAll(/^# TYPE (toncache_\w+) /gm)].map(([, name = '']) => name);
  expect(names.toSorted()).toEqual([...listed.keys()]);
  const samples = [...text.matchAll(/^(toncache_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$/gm)];
  expect(samples.length).toBeGreaterThan(50);
  for (const [line, name = '', labels = ''] of samples) {
    const own = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).filter((label) => label !== 'le');
    expect(own, line).toEqual(listed.get(name));
  }
});
