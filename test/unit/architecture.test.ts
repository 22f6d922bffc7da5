import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, it } from 'vitest';
import { SETTINGS } from '../../src/config/load.ts';
import { OPERATION_NAMES } from '../../src/ton/operation-names.ts';
import { EVERY_METRIC } from '../docs/render-names.ts';
import { CEILINGS, MAY_IMPORT, PACKAGE_PLACES } from './architecture-rules.ts';

// The linter checks rules about single files, and circular imports of files.

/** Folder names that do not describe the contents of a folder. */
const NAMES_OF_NOTHING = /^(utils?|helpers?|common|shared|types|core|services?|managers?)$/;

const ROOT = new URL('../../src/', import.meta.url);
const PATHS = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
const FILES = PATHS.map((path) => ({ path, text: readFileSync(new URL(path, ROOT), 'utf8') }));

/**
 * `import … from`, `import type … from`, `import()`, `require()` and `import('…').Type`, as the formatter writes them.
 */
const IMPORT = /^import (?<type>type )?(?:[^'"]*? from )?'(?<from>[^']+)'|\b(?:import|require)\('(?<call>[^']+)'\)/gm;

const IMPORTS = FILES.flatMap(({ path: file, text }) =>
  [...text.matchAll(IMPORT)].map(({ groups: { type, from, call } = {} }) => {
    const specifier = from ?? call ?? '';
    return { file, specifier, path: posix.join(posix.dirname(file), specifier), onlyTypes: type !== undefined };
  }),
);

it('the import pattern finds imports and require() in the source', () => {
  const seen = (file: string) => IMPORTS.filter((each) => each.file === file).map(({ specifier }) => specifier);
  expect(seen('redis/patch-ioredis.ts')).toEqual(
    expect.arrayContaining(['node:module', 'ioredis/built/DataHandler.js']),
  );
  expect(IMPORTS.filter(({ specifier }) => specifier.startsWith('./')).length).toBeGreaterThan(200);
});

it('each source file imports only from the folders in the table', () => {
  const violations = IMPORTS.filter(({ file, specifier, path, onlyTypes }) => {
    if (!specifier.startsWith('.') || path === '../package.json') return false;
    const [from, to] = [partOf(file), partOf(path)];
    const allowed = MAY_IMPORT[from] ?? [];
    const isAllowed = allowed.includes(to) || allowed.includes(path);
    return from !== to && !isAllowed && !(onlyTypes && allowed.includes(`${to} (types)`));
  });
  expect(violations).toEqual([]);
});

it('no folders import each other in a circle, not even types', () => {
  const edges = IMPORTS.filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ file, path }) => ({ from: partOf(file), to: partOf(path) }))
    .filter(({ from, to }) => from !== to);
  expect(edges.length).toBeGreaterThan(500);
  // Parts that import no other of those left, or that no other imports, are in no circle.
  let left = new Set(edges.map(({ from }) => from));
  for (let before = Number.POSITIVE_INFINITY; left.size < before; ) {
    before = left.size;
    const inside = edges.filter(({ from, to }) => left.has(from) && left.has(to));
    left = new Set(inside.map(({ from }) => from)).intersection(new Set(inside.map(({ to }) => to)));
  }
  expect([...left]).toEqual([]);
});

it('each package is imported only in the places listed for it', () => {
  const violations = IMPORTS.filter(({ file, specifier }) => {
    const places = PACKAGE_PLACES[specifier.split('/')[0] ?? ''];
    return places !== undefined && !places.some((place) => file === place || file.startsWith(`${place}/`));
  });
  expect(violations).toEqual([]);
});

it('only the files of operations and the tools compare with the name of an operation', () => {
  const files = FILES.filter(({ path }) => !path.startsWith('ton/operations/') && !path.startsWith('tools/'));
  expect(OPERATION_NAMES.length).toBeGreaterThan(2);
  const compared = OPERATION_NAMES.flatMap((name) =>
    files.filter(({ text }) => RegExp(`(?:[!=]== |case )'${name}'`).test(text)).map(({ path }) => [name, path]),
  );
  expect(compared).toEqual([]);
});

it.each(Object.keys(CEILINGS) as (keyof typeof CEILINGS)[])('the product has no more %s than its ceiling', (kind) => {
  const product = FILES.filter(({ path }) => !path.startsWith('tools/'));
  // Only the union of events writes a name like this.
  const events = product.flatMap(({ text }) => text.match(/readonly name: '[a-z-]+'/g) ?? []);
  const counted = {
    lines: product.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0),
    settings: SETTINGS.length,
    metrics: EVERY_METRIC.length,
    events: new Set(events).size,
  }[kind];
  expect(counted).toBeGreaterThan(10);
  const ceiling = CEILINGS[kind];
  const tooMany = `${counted} ${kind}, but architecture-rules.ts allows ${ceiling}: who raises one edits the number and says why`;
  expect(counted, tooMany).toBeLessThanOrEqual(ceiling);
});

it('no two types in the source have the same name', () => {
  const declared = FILES.flatMap(({ text }) => [
    ...text.matchAll(/^(?:export )?(?:abstract )?(?:interface|type|class) (\w+)/gm),
  ]);
  const names = declared.map(([, name]) => name);
  expect(names.length).toBeGreaterThan(200);
  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
});

it('each disabled linter rule has a reason', () => {
  const disabled = FILES.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:eslint-disable|biome-ignore).*/g)].map(([line]) => [path, line]),
  );
  expect(disabled.length).toBeGreaterThan(5);
  expect(disabled.filter(([, line]) => !/(?: -- |: )\w+/.test(line ?? ''))).toEqual([]);
});

it('no folder has a meaningless name such as utils', () => {
  const folders = PATHS.flatMap((path) => path.split('/').slice(0, -1));
  expect(folders.filter((name) => NAMES_OF_NOTHING.test(name))).toEqual([]);
});

/** The row in {@link MAY_IMPORT}: the folder, or the file itself if it lies directly in `src`. */
function partOf(path: string): string {
  return path.split('/')[0] ?? path;
}
