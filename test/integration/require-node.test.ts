import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const manifest: { scripts: Record<string, string> } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const scripts = Object.entries(manifest.scripts);
const chains = scripts.filter(([, script]) => script.startsWith('npm run '));
const commands = scripts.filter(([, script]) => !script.startsWith('npm run '));

const folder = mkdtempSync(join(tmpdir(), 'toncache-node-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs an npm script in a shell where `node` claims to be of this version. */
function runWhereNodeIs(version: string, script: string): { status: number | null; stdout: string; stderr: string } {
  const pretence = join(folder, `${version}.cjs`);
  writeFileSync(
    pretence,
    `Object.defineProperty(process, 'version', { value: 'v${version}' });
     Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`,
  );
  return spawnSync('sh', ['-c', script], {
    cwd: root,
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      NODE_OPTIONS: `--require ${pretence}`,
    },
  });
}

describe('below Node 24', () => {
  it.each(commands)('npm run %s prints the remedy in one line and exits 78', (_, script) => {
    const { status, stdout, stderr } = runWhereNodeIs('20.20.2', script);
    expect(stderr).toMatch(/^toncache needs Node 24 or newer and this is v20\.20\.2: .*"npm ci".*Node 24\.\n$/);
    expect(stdout).toBe('');
    expect(status).toBe(78);
  });

  it.each([
    ['a checkout', 'one/src', 'run "npm ci" here without --ignore-scripts and --omit=dev'],
    ['a checkout after npm ci', 'other/src', 'use "npm run toncache -- <command>", which runs the Node 24'],
    ['an installed package', 'package/dist', 'install Node 24.'],
  ])('the remedy in %s works there', (_, place, remedy) => {
    mkdirSync(join(folder, 'other/node_modules/node/bin'), { recursive: true });
    writeFileSync(join(folder, 'other/node_modules/node/bin/node'), '');
    cpSync(join(root, 'src/require-node-24.cjs'), join(folder, place, 'require-node-24.cjs'));
    const { status, stderr } = runWhereNodeIs('20.20.2', `node ${join(folder, place, 'require-node-24.cjs')}`);
    expect(stderr).toContain(`this is v20.20.2: ${remedy}`);
    expect(status).toBe(78);
  });

  it.each(chains)('npm run %s consists of checked commands', (_, script) => {
    const links = script.split(' && ').map((link) => link.replace(/^npm run /, ''));
    expect(commands.map(([name]) => name)).toEqual(expect.arrayContaining(links));
  });

  it('the check fails at 23.11.1 and passes from 24.0.0 on', () => {
    const check = 'node -r ./src/require-node-24.cjs -e 0';
    expect(runWhereNodeIs('23.11.1', check).status).toBe(78);
    expect(runWhereNodeIs('24.0.0', check)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(runWhereNodeIs('100.0.0', check)).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });
});
