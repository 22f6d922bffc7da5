import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { GUARD_MS } from './patience.ts';

/** A child process that reports in lines of JSON. */
export class Launched implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  readonly #kill: () => void;

  /** `exitSignal`: the child gets it if this process ends first. */
  constructor(child: ChildProcessByStdio<null, Readable, null>, exitSignal: NodeJS.Signals = 'SIGKILL') {
    this.#child = child;
    this.#kill = () => void child.kill(exitSignal);
    process.once('exit', this.#kill);
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The next line for which `read` returns a value. Rejects when the process ends without one. */
  async next<T>(read: (line: unknown) => T | undefined): Promise<T> {
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done === true) throw new Error('a started process ended early: its output is above');
      const message = read(JSON.parse(value));
      if (message !== undefined) return message;
    }
  }

  /** Sends the process a signal. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Asks the process to end, and waits for its end. If this process ends first, it is killed. */
  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#kill);
    if (this.hasEnded) return;
    const ended = once(this.#child, 'exit');
    const guard = setTimeout(() => this.#child.kill('SIGKILL'), GUARD_MS);
    this.#child.kill('SIGTERM');
    await ended;
    clearTimeout(guard);
  }
}

/** How one of our programs is started. */
interface LaunchOptions {
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts a TypeScript program with the Node of this process; its errors go to our stderr. */
export function launch(program: URL, { args = [], environment = {} }: LaunchOptions = {}): Launched {
  const command = [fileURLToPath(program), ...args];
  return new Launched(spawn(process.execPath, command, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] }));
}

/** Exits at a signal: the exit handlers end the started processes, which would otherwise continue. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
}
