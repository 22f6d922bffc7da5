import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PAGES as READERS_PAGES, readPage } from '../support/documented-commands.ts';

const ROOT = new URL('../../', import.meta.url);

const PAGES = [...READERS_PAGES, 'src/README.md'];

const SCRIPTS: Readonly<Record<string, string>> = JSON.parse(readPage('package.json')).scripts;

function withoutCodeBlocks(markdown: string): string {
  return markdown.replace(/^( *)```[\s\S]*?^\1```$/gm, '');
}

/** The relative targets of links and images. */
function relativeLinks(markdown: string): string[] {
  const targets = [...withoutCodeBlocks(markdown).matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors of a page's headings, as GitHub derives them. */
function anchorsOf(markdown: string): string[] {
  return [...withoutCodeBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** npm scripts that a page names. */
function npmScripts(markdown: string): string[] {
  return [...markdown.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)].map(([, run, short]) => run ?? short ?? '');
}

test.each([...PAGES, 'CHANGELOG.md'])('%s: every relative link leads to a file and a heading that exist', (page) => {
  const from = new URL(page, ROOT);
  const broken = relativeLinks(readPage(page)).filter((target) => {
    const [path = '', anchor = ''] = target.split('#');
    const file = path === '' ? from : new URL(path, from);
    if (!existsSync(file)) return true;
    return anchor !== '' && !anchorsOf(readFileSync(file, 'utf8')).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test.each(PAGES)('%s: every npm script that it names exists in package.json', (page) => {
  expect(npmScripts(readPage(page)).filter((script) => !(script in SCRIPTS))).toEqual([]);
});

test('README.md has at most 110 lines', () => {
  expect(readPage('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(110);
});

test('README.md and docs/README.md together link to every other page', () => {
  const linkedFrom = (page: string) =>
    relativeLinks(readPage(page)).map((target) => new URL(target.replace(/#.*/, ''), new URL(page, ROOT)).href);
  const linked = new Set([...linkedFrom('README.md'), ...linkedFrom('docs/README.md')]);
  const others = PAGES.filter((page) => page !== 'README.md' && page !== 'src/README.md');
  expect(others.filter((page) => !linked.has(new URL(page, ROOT).href))).toEqual([]);
});

test('the capacity table follows from the measured CPU times', () => {
  const section = readPage('docs/how-to/size.md');
  const rows = [...section.matchAll(/^\| ((?:hits|misses)[^|]*) \| (.*) \|$/gm)];
  expect(rows.length).toBeGreaterThan(5);
  const measured = readPage('docs/background/benchmarks.md').split('\n');
  for (const [, requests = '', cells] of rows) {
    const row = measured.find((line) => new RegExp(`^\\| ${requests} +\\| +toncache \\|`).test(line)) ?? '';
    const perSecond = row
      .split('|')
      .slice(3, 6)
      .map((micros) => Number((700_000 / Number(micros)).toPrecision(2)));
    expect(`${requests}: ${cells}`).toBe(
      `${requests}: ${perSecond.map((count) => count.toLocaleString('en-US')).join(' | ')}`,
    );
  }
});

test('the savings in README.md are those of one run each', () => {
  const [, section = ''] = readPage('README.md').split('## What it saves');
  const rows = [...section.matchAll(/^\|.*\| ([\d,]+) \| ([\d,]+) \|$/gm)];
  expect(rows).toHaveLength(4);
  const measured = readPage('docs/background/benchmarks.md').replaceAll(/ +/g, ' ');
  const pairs = rows.map(([, sent = '', atIndexer = '']) => `| ${sent} | ${atIndexer}`.replaceAll(',', ''));
  expect(pairs.filter((pair) => !RegExp(`${pair.replaceAll('|', '\\|')}[ ,]`).test(measured))).toEqual([]);
});

test('src/README.md names only files and folders that exist', () => {
  const folders = readdirSync(new URL('src', ROOT), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const named = new RegExp(`\\b(?:${folders.map(({ name }) => name).join('|')})(?:/[a-z0-9-]+)+`, 'g');
  const names = [...new Set(readPage('src/README.md').match(named))];
  expect(names.length).toBeGreaterThan(25);
  expect(names.filter((name) => !['', '.ts'].some((end) => existsSync(new URL(`src/${name}${end}`, ROOT))))).toEqual(
    [],
  );
});
