import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The tool in a process of its own, killed with the test at the latest. */
function toncache(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const command = ['-r', './src/require-node-24.cjs', 'src/cli/main.ts', ...args];
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(process.execPath, command, {
    cwd: ROOT,
    env: { PORT: '0', ADMIN_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, ended: once(child, 'close'), stdout: text(child.stdout), stderr: text(child.stderr) };
}

describe('the command line tool as a process', () => {
  it('ends with the exit code of its command', async () => {
    const [help, wrong] = [toncache(['--help']), toncache(['strat'])];
    expect([(await help.ended)[0], (await wrong.ended)[0]]).toEqual([0, 64]);
    expect(await help.stdout).toMatch(/^usage: toncache <command>/);
  });

  it('start runs the same process as npm start, and ends by a signal with 0', async () => {
    const { child, ended, stdout } = toncache(['start'], { UPSTREAM_URL: 'http://127.0.0.1:1' });
    child.stdout.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('toncache is ready')) child.kill('SIGTERM');
    });
    expect((await ended)[0]).toBe(0);
    expect(await stdout).toMatch(/"msg":"shut down"/);
  });

  it('start exits 78 for wrong settings', async () => {
    const { ended, stderr } = toncache(['start']);
    expect((await ended)[0]).toBe(78);
    expect(await stderr).toContain('UPSTREAM_URL');
  });
});
