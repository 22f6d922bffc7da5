import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A command line in a shell at the root of the project, as a reader of the documentation runs it. */
export class ShellCommand implements AsyncDisposable {
  readonly exitCode: Promise<number | null>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  #output = '';

  /** The environment is that of the tests, without colours, and with these variables. */
  constructor(command: string, environment: Readonly<Record<string, string>> = {}) {
    const { REDIS_URL: _, ...inherited } = process.env;
    this.#child = spawn('/bin/sh', ['-c', command], {
      cwd: ROOT,
      env: { ...inherited, NO_COLOR: '1', FORCE_COLOR: '0', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own: npm starts shells that start Node, and all of them end with the command.
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
      });
    }
    this.exitCode = once(this.#child, 'close').then(([code]): number | null => code);
  }

  /** Standard output and error up to now. */
  get output(): string {
    return this.#output;
  }

  /** Kills its remaining processes. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      process.kill(-(this.#child.pid ?? 0), 'SIGKILL');
    } catch {
      // It has ended.
    }
    await this.exitCode;
  }
}

/** Runs a command to its end. */
export async function runCommand(
  command: string,
  environment?: Readonly<Record<string, string>>,
): Promise<{ exitCode: number | null; output: string }> {
  await using running = new ShellCommand(command, environment);
  const exitCode = await running.exitCode;
  return { exitCode, output: running.output };
}
