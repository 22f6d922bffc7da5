import { expect, test } from 'vitest';
import { loadSettings, SETTINGS } from '../../src/config/load.ts';
import { OperationsInUse } from '../../src/ton/operations.ts';
import { codeBlocksOf, commandsOf, PAGES, readPage } from '../support/documented-commands.ts';

// Examples that no test can run: Docker, nginx, Kubernetes. Those of config/deploy/ have tests of their own.

const README = readPage('README.md');
const VARIABLES = SETTINGS.flatMap(({ env }) => env ?? []);
const BLOCKS = PAGES.flatMap((page) => codeBlocksOf(readPage(page)));
const DOCKERFILE = readPage('Dockerfile');

const textsIn = (language: string) => BLOCKS.filter((block) => block.language === language).map(({ text }) => text);

test('variables of `docker run` are settings, and the image exposes its ports', () => {
  const [run = ''] = commandsOf(README).filter((command) => command.startsWith('docker run '));
  const given = [...run.matchAll(/-e (\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value] as const);
  expect(given.length).toBeGreaterThan(0);
  expect(VARIABLES).toEqual(expect.arrayContaining(given.map(([name]) => name)));
  expect(() => loadSettings(Object.fromEntries(given))).not.toThrow();
  for (const [, port = ''] of run.matchAll(/-p \d+:(\d+)/g))
    expect(DOCKERFILE).toMatch(RegExp(`^EXPOSE.* ${port}\\b`, 'm'));
});

test('the routes to toncache are the paths of the operations', () => {
  const paths = new OperationsInUse().names.map((name) => `/api/v3/${name}`);
  const [nginx = ''] = textsIn('nginx');
  const [, names = ''] = /\^\/api\/v3\/\((.+?)\)/.exec(nginx) ?? [];
  expect(
    names
      .split('|')
      .map((name) => `/api/v3/${name}`)
      .toSorted(),
  ).toEqual(paths.toSorted());
  const ingress = textsIn('yaml').find((text) => text.includes('kind: Ingress')) ?? '';
  const routed = [...ingress.matchAll(/path: (\S+), .*name: toncache/g)].map(([, path = '']) => path);
  expect(routed.toSorted()).toEqual(paths.toSorted());
});

test('there are no examples in a language that these tests do not check', () => {
  const languages = new Set(BLOCKS.map(({ language }) => language));
  expect([...languages].toSorted()).toEqual(['', 'nginx', 'sh', 'yaml']);
});
