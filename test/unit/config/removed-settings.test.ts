import { describe, expect, test } from 'vitest';
import { SETTINGS } from '../../../src/config/load.ts';
import { REMOVED_SETTINGS, withoutRemoved } from '../../../src/config/removed-settings.ts';
import { setAt } from '../../../src/config/setting-source.ts';
import { load, problemsOf, REQUIRED } from './configured.ts';

describe('a removed setting', () => {
  test.each(REMOVED_SETTINGS)(
    'is a warning with its replacement, and changes nothing: %j',
    ({ path, env, instead }) => {
      const file = {};
      if (path !== undefined) setAt(file, path.split('.'), 'any value');
      const { settings, warnings } = load({ ...REQUIRED, ...(env && { [env]: 'any value' }) }, file);
      expect(settings).toEqual(load(REQUIRED).settings);
      const names = [env, path].filter((name) => name !== undefined);
      expect(warnings).toEqual([
        `${names.join(', ')} ${names.length === 1 ? 'is no longer a setting' : 'are no longer settings'}: ${instead}`,
      ]);
    },
  );

  test('is no setting of today, nor part of one', () => {
    const names = new Set(
      SETTINGS.flatMap(({ path, env = '' }) => [env, ...path.map((_, end) => path.slice(0, end + 1).join('.'))]),
    );
    for (const { path, env } of REMOVED_SETTINGS) {
      expect([path, env].filter((name) => name !== undefined && names.has(name))).toEqual([]);
    }
  });

  test('of a row of the table of lifetimes is named, with the setting for its lifetime', () => {
    const lifetimes = {
      shardsFinal: { lifetime: '1h', staleIfError: '1h' },
      head: { lifetime: '1s', staleWhileRevalidate: '1s' },
      empty: { lifetime: '1s' },
      notFound: '1s',
    };
    const { settings, warnings } = load(REQUIRED, { lifetimes });
    expect(settings.lifetimes).toMatchObject({ notFound: 1000 });
    expect(settings.lifetimes.head).toBeUndefined();
    expect(warnings).toEqual([
      'lifetimes.shardsFinal.lifetime, lifetimes.shardsFinal.staleIfError are no longer settings: lifetimes.final sets its lifetime; the rest of the row is fixed',
      'lifetimes.head.lifetime is no longer a setting: lifetimes.head sets its lifetime; the rest of the row is fixed',
      'lifetimes.head.staleWhileRevalidate is no longer a setting: lifetimes.head sets its lifetime; the rest of the row is fixed',
      'lifetimes.empty.lifetime is no longer a setting: the row is fixed',
    ]);
  });

  test('does not hide the problems of other settings', () => {
    const file = { http: { maxWaiting: 5, maxWating: 5, port: -1 } };
    expect(problemsOf(REQUIRED, file)).toEqual([
      expect.stringMatching(/^http\.port=-1 in /),
      'http.maxWating: is not a setting',
    ]);
  });
});

describe('settings without the removed ones', () => {
  const REMOVED = [
    { path: 'old.group', instead: 'use new' },
    { env: 'OLD_VARIABLE', instead: 'it is fixed' },
    { path: 'old.both', env: 'OLD_BOTH', instead: 'use NEW_BOTH' },
  ];
  const without = (environment: Record<string, string>, inFile: object) =>
    withoutRemoved({ environment, inFile: { ...inFile } }, REMOVED);

  test('lack whole groups, whose given members are named', () => {
    const inFile = { old: { group: { a: '1s', b: { c: 2 } }, kept: 1 }, network: 'testnet' };
    expect(without({}, inFile)).toEqual({
      environment: {},
      inFile: { old: { kept: 1 }, network: 'testnet' },
      warnings: ['old.group.a, old.group.b.c are no longer settings: use new'],
    });
    expect(without({}, { old: { group: {} } }).warnings).toEqual(['old.group is no longer a setting: use new']);
    expect(without({}, { old: { group: null } }).warnings).toEqual(['old.group is no longer a setting: use new']);
  });

  test('lack variables, with a warning only for those with a value, and never with the value', () => {
    expect(without({ OLD_VARIABLE: 'secret', PORT: '1' }, {})).toEqual({
      environment: { PORT: '1' },
      inFile: {},
      warnings: ['OLD_VARIABLE is no longer a setting: it is fixed'],
    });
    expect(without({ OLD_VARIABLE: '' }, {}).warnings).toEqual([]);
    expect(without({ OLD_BOTH: '1' }, { old: { both: 1 } }).warnings).toEqual([
      'OLD_BOTH, old.both are no longer settings: use NEW_BOTH',
    ]);
  });

  test('keep a value where the file should have a group, and the given objects are unchanged', () => {
    expect(without({}, { old: { both: 1 } }).inFile).toEqual({});
    expect(without({}, { old: 7 })).toMatchObject({ inFile: { old: 7 }, warnings: [] });
    const inFile = { old: { group: 1 } };
    without({}, inFile);
    expect(inFile).toEqual({ old: { group: 1 } });
  });
});
