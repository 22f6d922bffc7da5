import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { SETTINGS } from '../../../src/config/load.ts';
import { fileVariableOf } from '../../../src/config/secret-files.ts';
import { valueAt } from '../../../src/config/setting-source.ts';
import { load, problemsOf, REQUIRED } from './configured.ts';

const SECRET = 'hunter2';
const folder = mkdtempSync(join(tmpdir(), 'toncache-secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function fileWith(content: string | Buffer): string {
  const path = join(folder, `file-${++files}`);
  writeFileSync(path, content);
  return path;
}

/** A valid value of each setting that may come from a file. */
const VALUES: Readonly<Record<string, string>> = {
  UPSTREAM_URL: 'http://other:8081',
  UPSTREAM_BACKUP_URL: 'http://backup:8081',
  UPSTREAM_API_KEY: SECRET,
  UPSTREAM_BACKUP_API_KEY: SECRET,
  STREAM_API_KEY: SECRET,
  REDIS_URL: `redis://:${SECRET}@redis`,
  ADMIN_TOKEN: SECRET,
};
const SECRETS = SETTINGS.filter((setting) => fileVariableOf(setting) !== undefined);
const settingOf = (variable: string) => SECRETS.find(({ env }) => env === variable);

test('each setting that is or may contain a secret can come from a file', () => {
  expect(SECRETS.map(({ env }) => env).toSorted()).toEqual(Object.keys(VALUES).toSorted());
});

describe.each(Object.entries(VALUES))('%s from a file', (variable, value) => {
  const file = `${variable}_FILE`;
  /** A setting whose value must come from the file alone. */
  const others = variable === 'UPSTREAM_URL' ? {} : REQUIRED;
  const read = (environment: Readonly<Record<string, string>>) =>
    valueAt(load({ ...others, ...environment }).settings, settingOf(variable)?.path ?? []);

  test.each(['', '\n', '\r\n'])('is the same as from the variable, without one line break at its end (%j)', (end) => {
    expect(read({ [file]: fileWith(`${value}${end}`) })).toEqual(read({ [variable]: value }));
    expect(read({ [file]: fileWith(`${value}${end}`), [variable]: '' })).toEqual(read({ [variable]: value }));
  });

  test('is shown as that of the variable that names the file', () => {
    const { sources } = load({ ...others, [file]: fileWith(value) });
    expect(sources.filter(({ source }) => source === file)).toHaveLength(1);
    expect(JSON.stringify(sources)).not.toContain(SECRET);
  });

  test.each([
    ['a file that does not exist', () => join(folder, SECRET), 'it does not exist'],
    ['a folder', () => folder, 'it cannot be read (EISDIR)'],
    ['an empty file', () => fileWith('\n'), 'it is empty'],
    ['a file that is not UTF-8', () => fileWith(Buffer.from([0xff, 0xfe, 0x61])), 'it is not UTF-8'],
  ])('is refused for %s, without the path, which may be the secret itself', (_, path, why) => {
    expect(problemsOf({ ...others, [file]: path() })).toEqual([
      `${file}: must name a file with the value of ${variable}, in UTF-8: ${why}`,
    ]);
  });

  test('is refused next to the variable itself', () => {
    const path = fileWith(value);
    expect(problemsOf({ ...REQUIRED, [variable]: value, [file]: path })).toEqual([
      `${file}: must not be set together with ${variable}`,
    ]);
  });
});

test('an invalid value in a file is reported by the variable of the file, and not shown', () => {
  const problems = problemsOf({ ...REQUIRED, UPSTREAM_API_KEY_FILE: fileWith(`${SECRET}\n\n`) });
  expect(problems).toEqual(['UPSTREAM_API_KEY_FILE (upstream.apiKey): must be printable ASCII without spaces']);
});

test('all problems are reported at once, those of files and others', () => {
  expect(problemsOf({ ADMIN_TOKEN_FILE: join(folder, 'none'), PORT: 'x' })).toEqual([
    expect.stringMatching(/^ADMIN_TOKEN_FILE: must name a file .* it does not exist$/),
    'UPSTREAM_URL (upstream.url): is required',
    expect.stringMatching(/^PORT="x": must be/),
  ]);
});

test('a file variable of another setting is not read', () => {
  expect(load({ ...REQUIRED, NETWORK_FILE: fileWith('testnet') }).settings.network).toBe('mainnet');
});
