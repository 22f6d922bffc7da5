import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'toncache-ci-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** An npm whose tests fail beside others, this many of them, and pass when they are run alone. */
const npm = (failing: number) => `#!/usr/bin/env node
const path = process.argv.find((arg) => arg.startsWith('--outputFile.json='))?.slice('--outputFile.json='.length);
if (process.argv[2] === 'start') {
  process.on('SIGTERM', () => process.exit(0));
  setInterval(() => {}, 1000);
  return void console.log('toncache is ready');
}
if (path === undefined) process.exit(0);
const failing = path.endsWith('again.json') ? 0 : ${failing};
const results = (count, status) =>
  Array.from({ length: count }, (_, at) => ({ fullName: status + ' ' + at, status, failureMessages: ['too slow'] }));
const assertionResults = [...results(5000, 'passed'), ...results(failing, 'failed')];
require('node:fs').writeFileSync(path, JSON.stringify({
  testResults: [{ name: 'a.test.ts', assertionResults }],
  numPassedTests: 5000, numFailedTests: failing, numTotalTests: 5000 + failing,
}));
process.exit(failing === 0 ? 0 : 1);
`;

function runCi(failing: number): { status: number | null; lines: string[] } {
  const place = join(folder, String(failing));
  mkdirSync(join(place, 'bin'), { recursive: true });
  cpSync(fileURLToPath(new URL('../../.ci/run', import.meta.url)), join(place, '.ci/run'));
  writeFileSync(join(place, 'bin/npm'), npm(failing), { mode: 0o755 });
  const PATH = [join(place, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter);
  const { status, stdout } = spawnSync(join(place, '.ci/run'), { encoding: 'utf8', env: { ...process.env, PATH } });
  return { status, lines: stdout.trimEnd().split('\n') };
}

describe('.ci/run', () => {
  it.each([
    [0, 0, / passed, 0 failed$/],
    [2, 0, / passed, 0 failed$/],
    [3, 1, / passed, 1 failed$/],
    [4, 1, / passed, 4 failed$/],
  ])('with %i tests that pass only when they are run alone exits %i', (failing, status, last) => {
    const { status: actual, lines } = runCi(failing);
    expect([actual, lines.at(-1)]).toEqual([status, expect.stringMatching(last)]);
    // Four are not run again.
    const flaky = failing > 3 ? 0 : failing;
    const names = Array.from({ length: flaky }, (_, at) => `a.test.ts: failed ${at}: too slow`);
    const from = lines.indexOf(`flaky: ${flaky}`);
    expect(lines.slice(from + 1, from + 1 + flaky)).toEqual(names);
  });
});

const project = fileURLToPath(new URL('../..', import.meta.url));

describe('a name behind', () => {
  it.each([
    ['test', 'promtool', []],
    ['test', 'unit/reason-of', ['test/unit/reason-of.test.ts']],
    ['test:slow', 'promtool', ['test/integration/promtool.slow.test.ts']],
  ])('npm run %s selects only its own tests: %s', (script, name, files) => {
    const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
    const listed = scripts[script].split(' ').map((word: string) => (word === 'run' ? 'list' : word));
    const args = [...listed.slice(1), '--filesOnly', name];
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: project });
    expect(stdout.split('\n').filter((line) => line.endsWith('.test.ts'))).toEqual(files);
  });
});
