import { expect, test } from 'vitest';
import { loadSettings, SETTINGS } from '../../src/config/load.ts';
import { CACHED_ALWAYS, FURTHER } from '../../src/ton/operation-names.ts';
import { OPERATIONS } from '../../src/ton/operations.ts';
import { codeBlocksOf, commandsOf, PAGES, readPage } from '../support/documented-commands.ts';

// Examples that no test can run: Docker, nginx, Kubernetes. Those of config/deploy/ have tests of their own.

const README = readPage('README.md');
const VARIABLES = SETTINGS.flatMap(({ env }) => env ?? []);
const BLOCKS = PAGES.flatMap((page) => codeBlocksOf(readPage(page)));
const DOCKERFILE = readPage('Dockerfile');

const textsIn = (language: string) => BLOCKS.filter((block) => block.language === language).map(({ text }) => text);

test('the variables in `docker run` are settings, and the image exposes the published ports', () => {
  const [run = ''] = commandsOf(README).filter((command) => command.startsWith('docker run '));
  const given = [...run.matchAll(/-e (\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value] as const);
  expect(given.length).toBeGreaterThan(0);
  expect(VARIABLES).toEqual(expect.arrayContaining(given.map(([name]) => name)));
  expect(() => loadSettings(Object.fromEntries(given))).not.toThrow();
  for (const [, port = ''] of run.matchAll(/-p \d+:(\d+)/g))
    expect(DOCKERFILE).toMatch(RegExp(`^EXPOSE.* ${port}\\b`, 'm'));
});

test.each([
  ['of the operations that are always cached', 0, CACHED_ALWAYS],
  ['of the further operations', 1, FURTHER],
])('the routes to toncache are the paths %s', (_, place, names) => {
  const operations = names.flatMap((name) => OPERATIONS.get(name)?.paths ?? []);
  const namesIn = (nginx = '') => [...nginx.matchAll(/\^\/api\/v3\/\((.+?)\)/g)].map(([, names]) => names);
  expect(namesIn(textsIn('nginx')[place])).toEqual([operations.join('|')]);
  expect(namesIn(readPage('config/deploy/nginx.conf'))[place]).toBe(operations.join('|'));
  const ingress = textsIn('yaml').filter((text) => text.includes('pathType: Exact'))[place] ?? '';
  const routed = [...ingress.matchAll(/path: \/api\/v3\/(\S+), .*name: toncache/g)].map(([, name]) => name);
  expect(routed).toEqual([...operations]);
});

test('every code block is in a language that these tests check', () => {
  const languages = new Set(BLOCKS.map(({ language }) => language));
  expect([...languages].toSorted()).toEqual(['', 'nginx', 'sh', 'yaml']);
});
