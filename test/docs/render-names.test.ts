import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/command.ts';
import { readPage } from '../support/documented-commands.ts';
import { startProxy } from '../support/start-proxy.ts';
import { loggedNames, renderNames } from './render-names.ts';

test.each(renderNames().map((page) => [page.file.pathname.split('/docs/').at(-1), page] as const))(
  'docs/%s has the names of the code; "npm run docs" renders them',
  (_, { expected, actual }) => expect(actual).toBe(expected),
);

test('docs/reference/logs.md has a line for each event that is logged', () => {
  const { listened, shown } = loggedNames();
  expect(listened.size).toBeGreaterThan(10);
  expect([...listened].filter((name) => !shown.has(name))).toEqual([]);
});

test('docs/reference/cli.md has a row for each exit status', () => {
  const rows = readPage('docs/reference/cli.md').matchAll(/^\| (\d+) \|/gm);
  expect([...rows].map(([, status]) => Number(status))).toEqual(Object.values(EXIT));
});

test('the metrics have the labels that docs/reference/metrics.md lists', async () => {
  const env = {
    REDIS_URL: 'redis://127.0.0.1:1',
    PASSTHROUGH: 'on',
    CACHE_OPERATIONS: 'all',
  };
  const upstreamUrl = 'http://127.0.0.1:1,http://127.0.0.1:2';
  await using proxy = await startProxy({ upstreamUrl, env });
  await proxy.ask('/api/v3/masterchainBlockShards?seqno=1');
  const { text } = await proxy.askAdmin('/metrics');
  const page = readPage('docs/reference/metrics.md');
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
