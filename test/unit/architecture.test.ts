import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { environmentPlaces, mayImport, packagePlaces } from './architecture-rules.ts';
import { cyclesIn } from './import-cycles.ts';
import { type Import, readSource, type SourceFile } from './read-source.ts';
import { retiredWordIn } from './retired-words.ts';

/** Names that say nothing about what is in a folder. */
const namesOfNothing = /^(utils?|helpers?|common|shared|types|core|services?|managers?)$/;

const mostLines = 250;

/** Benches and attacks work in rounds, which are no block sets. */
const namedFolders = /^(contract|e2e|fault|integration|support|unit)\//;
/** They hold retired words themselves: the list and its test. */
const exceptFiles = ['unit/retired-words.ts', 'unit/architecture.test.ts'];

const root = new URL('../../', import.meta.url);
const source = readSource(fileURLToPath(new URL('src', root)));
const tests = readSource(fileURLToPath(new URL('test', root)));
const manifest: { dependencies: Record<string, string> } = JSON.parse(
  readFileSync(new URL('package.json', root), 'utf8'),
);

describe('src', () => {
  it('has files that these tests see', () => {
    expect(source.map(({ path }) => path)).toContain('errors.ts');
  });

  it('has only folders that the import table names', () => {
    const missing = new Set(source.map(({ path }) => placeOf(path)).filter((place) => !mayImport[place]));
    expect([...missing].map((place) => `src/${place}: give it a row in mayImport`)).toEqual([]);
  });

  it('imports only what the table allows', () => {
    expect(violations(againstTable)).toEqual([]);
  });

  it('imports each package in its own folder only', () => {
    expect(violations(againstPackagePlaces)).toEqual([]);
  });

  it('imports no package that an installation without development dependencies lacks', () => {
    const lacking = ({ specifier, path }: Import) =>
      path === undefined && !specifier.startsWith('node:') && !manifest.dependencies[packageOf(specifier)];
    expect(
      violations((_, found) => (lacking(found) ? 'it is not in the dependencies of package.json' : undefined)),
    ).toEqual([]);
  });

  it('has no barrels', () => {
    expect(
      violations((_, found) => (found.isReExport ? 'nothing is re-exported: import from the owner' : undefined)),
    ).toEqual([]);
  });

  it('has no two files that import each other in a circle, not even their types', () => {
    expect(cyclesIn(source)).toEqual([]);
  });

  it('gives each name to one type alone', () => {
    const names = source.flatMap(({ typeNames }) => typeNames);
    expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
  });

  it('reads the environment in one file of each program', () => {
    const readers = source.filter(({ path }) => !environmentPlaces.includes(path));
    expect(
      readers.flatMap(({ path, environmentReads }) =>
        environmentReads.map(
          (line) => `src/${path}:${line} reads process.env: only ${environmentPlaces.join(' and ')} may`,
        ),
      ),
    ).toEqual([]);
  });

  it('keeps what components depend on out of their options', () => {
    // Programs of their own: what they are built of is one object.
    const components = source.filter(({ path }) => !/^(cli|tools)\//.test(path));
    expect(
      components.flatMap(({ path, functionsInOptions }) =>
        functionsInOptions.map(({ name, line }) => `src/${path}:${line}: ${name} belongs to the dependencies`),
      ),
    ).toEqual([]);
  });

  it('has no folder with an empty name such as utils', () => {
    const unclear = source.filter(({ path }) =>
      path
        .split('/')
        .slice(0, -1)
        .some((name) => namesOfNothing.test(name)),
    );
    expect(unclear.map(({ path }) => `src/${path} lies in a folder whose name says nothing`)).toEqual([]);
  });

  it('declares no name with a retired word', () => {
    const found = source.flatMap(({ path, names }) => {
      const places = [{ name: path.replace(/\.ts$/, ''), line: 1 }, ...names];
      return places.flatMap(({ name, line }) => {
        const word = retiredWordIn(name);
        return word === undefined ? [] : [`src/${path}:${line} declares ${name}: see the glossary for "${word}"`];
      });
    });
    expect(found).toEqual([]);
  });

  it('finds retired words as words of a name alone', () => {
    const words = ['judgeAnswer', '#claims', 'LONGEST_REST_MS', 'tools/rounds', 'memoryBeforeRedisMs'].map(
      retiredWordIn,
    );
    expect(words).toEqual(['judge', 'claim', 'rest', 'round', 'before redis']);
    const others = ['rest', '...rest', 'roundTripMs', 'SLOW_ROUND_TRIP_MS', 'Surroundings', 'background', 'restart'];
    expect(others.filter((name) => retiredWordIn(name) !== undefined)).toEqual([]);
  });

  it(`has no file above ${mostLines} lines`, () => {
    const long = source.filter(({ lines }) => lines > mostLines);
    expect(long.map(({ path, lines }) => `src/${path} has ${lines} lines`)).toEqual([]);
  });
});

describe('test', () => {
  it('has files that these tests see', () => {
    expect(tests.map(({ path }) => path)).toContain('unit/architecture.test.ts');
  });

  it(`has no file above ${mostLines} lines`, () => {
    const long = tests.filter(({ lines }) => lines > mostLines);
    expect(long.map(({ path, lines }) => `test/${path} has ${lines} lines`)).toEqual([]);
  });

  it('declares no name with a retired word', () => {
    const named = tests.filter(({ path }) => namedFolders.test(path) && !exceptFiles.includes(path));
    const found = named.flatMap(({ path, names }) =>
      [{ name: path.replace(/\.ts$/, ''), line: 1 }, ...names].flatMap(({ name, line }) => {
        const word = retiredWordIn(name);
        return word === undefined ? [] : [`test/${path}:${line} declares ${name}: see the glossary for "${word}"`];
      }),
    );
    expect(found).toEqual([]);
  });
});

/** `src/a/b.ts:3 imports X: reason`, for every import that the rule has a reason against. */
function violations(rule: (file: SourceFile, found: Import) => string | undefined): string[] {
  return source.flatMap((file) =>
    file.imports.flatMap((found) => {
      const reason = rule(file, found);
      return reason === undefined ? [] : [`src/${file.path}:${found.line} imports ${found.specifier}: ${reason}`];
    }),
  );
}

function againstTable(file: SourceFile, { path, onlyTypes }: Import): string | undefined {
  if (path === undefined || path === '../package.json') return undefined;
  if (path.startsWith('../')) return 'nothing in src imports from outside of it';
  const [from, to] = [placeOf(file.path), placeOf(path)];
  const allowed = mayImport[from] ?? [];
  if (from === to || allowed.includes(to) || (onlyTypes && allowed.includes(`${to} (types)`))) return undefined;
  return `${from} may import ${allowed.join(', ') || 'nothing of ours'}`;
}

function againstPackagePlaces(file: SourceFile, { specifier }: Import): string | undefined {
  const places = packagePlaces[packageOf(specifier)];
  if (places === undefined || places.some((place) => file.path === place || isBelow(place, file.path)))
    return undefined;
  return `only ${places.join(', ')} may`;
}

function isBelow(folder: string, path: string): boolean {
  return folder.endsWith('/') && path.startsWith(folder);
}

/** The row of the table: the folder, or the file itself if it lies directly in src. */
function placeOf(path: string): string {
  return path.split('/')[0] ?? path;
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
