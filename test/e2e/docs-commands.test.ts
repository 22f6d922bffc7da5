import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { readOptions } from '../bench/overload/options.ts';
import { commandsOf, PAGES, readPage } from '../support/documented-commands.ts';

/** Commands of npm that are no script of the project. */
const OF_NPM = ['ci', 'install', 'pack', 'publish', 'version'];

const documented = [...new Set(PAGES.flatMap((page) => commandsOf(readPage(page))))];

/** Those that can be run without much are run by docs-commands.slow.test.ts. */
describe('the documented commands', () => {
  it('are scripts of the project', () => {
    const scripts = documented.flatMap((command) => /\bnpm (?:run )?([\w:-]+)/.exec(command)?.slice(1) ?? []);
    expect(scripts.length).toBeGreaterThan(20);
    expect(scripts.filter((name) => !OF_NPM.includes(name) && !Object.hasOwn(manifest.scripts, name))).toEqual([]);
  });

  it('name files that exist', () => {
    const files = documented.flatMap((command) => command.match(/(?<=^| )(?:test|config|src|\.ci)\/[\w./-]+/g) ?? []);
    expect(files.length).toBeGreaterThan(3);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });

  it('give bench:overload options that it knows', () => {
    const benches = documented.filter((command) => command.startsWith('npm run bench:overload -- '));
    expect(benches.length).toBeGreaterThan(0);
    for (const bench of benches) {
      const [, options = ''] = bench.split(' -- ');
      const { trials, outages } = readOptions(options.split(' '));
      expect(trials.length + outages.length).toBeGreaterThan(0);
    }
  });
});
