import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const [BUILD = ''] = manifest.scripts.start.split(' && ');

/** A checkout after `npm ci`. */
const checkout = mkdtempSync(join(tmpdir(), 'toncache-build-'));
const inDist = (path: string) => join(checkout, 'dist', path);
const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`;
const builtAt = () => statSync(inDist('.tsbuildinfo')).mtimeMs;

beforeAll(() => {
  for (const path of ['src', 'package.json', 'tsconfig.json', 'docs'])
    cpSync(join(ROOT, path), join(checkout, path), { recursive: true, verbatimSymlinks: true });
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
});
afterAll(() => rmSync(checkout, { recursive: true }));

function run(command: string): SpawnSyncReturns<string> {
  return spawnSync('sh', ['-c', command], { cwd: checkout, encoding: 'utf8', env: { ...process.env, PATH } });
}

describe('the build of npm start', () => {
  it('is made once per change, also if two begin at once', async () => {
    const both = [BUILD, BUILD].map((command) =>
      once(spawn('sh', ['-c', command], { cwd: checkout, env: { ...process.env, PATH }, stdio: 'ignore' }), 'exit'),
    );
    expect(await Promise.all(both)).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(readdirSync(inDist('')).filter((name) => /building|tsbuildinfo-/.test(name))).toEqual([]);
    const before = builtAt();
    expect(run(BUILD)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(builtAt()).toBe(before);
  });

  it('starts toncache with the arguments after it', () => {
    const { status, stdout } = run(`${manifest.scripts.start} --help`);
    expect([status, stdout]).toEqual([0, expect.stringContaining('usage: toncache start')]);
  });

  it('is made again after a change, and stdout stays free for the log', () => {
    appendFileSync(join(checkout, 'src/version.ts'), 'export const ADDED = 7;\n');
    const { status, stdout, stderr } = run(BUILD);
    expect([status, stdout]).toEqual([0, '']);
    expect(stderr).toContain('compiling src/ into dist/');
    expect(readFileSync(inDist('version.js'), 'utf8')).toContain('ADDED = 7');
  });

  it('names the error, starts nothing and leaves the last build as it is', () => {
    appendFileSync(join(checkout, 'src/version.ts'), 'export const WRONG: number = "text";\n');
    const { status, stdout, stderr } = run(manifest.scripts.start);
    expect([status === 0, stdout]).toEqual([false, '']);
    expect(stderr).toMatch(/src\/version\.ts\(\d+,14\): error TS2322/);
    expect(stderr).toContain('src/ was not compiled');
    expect(readFileSync(inDist('version.js'), 'utf8')).not.toContain('WRONG');
    expect(existsSync(inDist('cli/main.js'))).toBe(true);
  });
});
