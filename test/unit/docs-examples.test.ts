import { expect, test } from 'vitest';
import { loadSettings, SETTINGS } from '../../src/config/load.ts';
import { CACHED_ALWAYS, FURTHER } from '../../src/ton/operation-names.ts';
import { OPERATIONS } from '../../src/ton/operations.ts';
import { codeBlocksOf, commandsOf, PAGES, readPage } from '../support/documented-commands.ts';

// Examples that no test can run: Docker, nginx, Kubernetes. Those of config/deploy/ have tests of their own.

const VARIABLES = SETTINGS.flatMap(({ env }) => env ?? []);
const BLOCKS = PAGES.flatMap((page) => codeBlocksOf(readPage(page)));
const DOCKERFILE = readPage('Dockerfile');

const textsIn = (language: string) => BLOCKS.filter((block) => block.language === language).map(({ text }) => text);

test('the variables in `docker run` are settings, and the image exposes the published ports', () => {
  const [run = ''] = commandsOf(readPage('docs/start/deployment.md')).filter((command) =>
    command.startsWith('docker run '),
  );
  const given = [...run.matchAll(/-e (\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value] as const);
  expect(given.length).toBeGreaterThan(0);
  expect(VARIABLES).toEqual(expect.arrayContaining(given.map(([name]) => name)));
  expect(() => loadSettings(Object.fromEntries(given))).not.toThrow();
  for (const [, port = ''] of run.matchAll(/-p \d+:(\d+)/g))
    expect(DOCKERFILE).toMatch(RegExp(`^EXPOSE.* ${port}\\b`, 'm'));
});

test.each(FURTHER)('docs/reference/requests.md has the parameters of %s', (name) => {
  const [, table = ''] = readPage('docs/reference/requests.md').split('| Operation | Cached with these parameters |');
  const cells = table.split('\n\n')[0]?.matchAll(/^\| (.+?) \|/gm) ?? [];
  expect([...cells].filter(([, cell]) => cell?.includes(`\`${name}\``))).toHaveLength(1);
});

// No balancer reads the account in a body.
const aboutAccounts = FURTHER.filter((name) => {
  const { evidence, body } = OPERATIONS.get(name) ?? {};
  return evidence !== undefined && body === undefined;
});

test.each([
  ['of the operations that are always cached', 0, CACHED_ALWAYS],
  ['of further operations that no block proves', 1, FURTHER.filter((name) => !aboutAccounts.includes(name))],
  ['of operations about accounts', 2, aboutAccounts],
])('the routes to toncache are the paths %s', (_, place, names) => {
  const paths = names.flatMap((name) => OPERATIONS.get(name)?.paths ?? []);
  const routesIn = (nginx: string) => [...nginx.matchAll(/\^\/api\/v3\/\((.+?)\)/g)].map(([, routed]) => routed);
  expect(routesIn(readPage('config/deploy/nginx.conf'))[place]).toBe(paths.join('|'));
  // The page has the paths that are always cached. For the others it leads to nginx.conf, with examples for an Ingress.
  if (place === 0) expect(routesIn(textsIn('nginx').join('\n'))).toEqual([paths.join('|')]);
  const [always = '', accounts = ''] = textsIn('yaml').filter((text) => text.includes('pathType: Exact'));
  const routed = (ingress: string) =>
    [...ingress.matchAll(/path: \/api\/v3\/(\S+), .*name: toncache/g)].map(([, name]) => name);
  if (place === 0) expect(routed(always)).toEqual(paths);
  if (place === 2) expect(routed(accounts)).toEqual(paths.slice(0, 2));
});

test('the addresses in docs/reference/settings.md that get a warning get it, and those that are accepted get none', () => {
  const [row = ''] =
    /^.*toncache adds `\/api\/v3` to this address.*$/m.exec(readPage('docs/reference/settings.md')) ?? [];
  const [address = ''] = row.split(' | ');
  const endsWarned = ['/api', ...[...address.matchAll(/\(`(\S+)`\)/g)].map(([, end = '']) => end)];
  const warned = ['', '/v3', '/api/v3', ...endsWarned].filter(
    (end) => loadSettings({ UPSTREAM_URL: `http://indexer:8081${end}` }).warnings.length > 0,
  );
  expect(warned).toEqual(endsWarned);
  expect(warned).toHaveLength(3);
});

test('every code block is in a language that these tests check', () => {
  const languages = new Set(BLOCKS.map(({ language }) => language));
  expect([...languages].toSorted()).toEqual(['', 'html', 'json', 'nginx', 'sh', 'yaml']);
});
