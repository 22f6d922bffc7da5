import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathOf } from '../support/apt.ts';
import { freePort } from '../support/free-port.ts';

/** A server that runs with a folder of its own. */
export interface Installed extends AsyncDisposable {
  /** `127.0.0.1:PORT`. */
  readonly host: string;
}

/**
 * Starts a program that is installed here under one of these names; undefined if none is. `argsFor` writes its files
 * into the folder, and resolves with its arguments.
 */
export async function startInstalled(
  names: readonly string[],
  argsFor: (folder: string, host: string) => Promise<readonly string[]>,
): Promise<Installed | undefined> {
  const path = names.map(pathOf).find((found) => found !== undefined);
  if (path === undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'toncache-situations-'));
  const host = `127.0.0.1:${await freePort()}`;
  const child = spawn(path, await argsFor(folder, host), { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  return {
    host,
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill);
      kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
