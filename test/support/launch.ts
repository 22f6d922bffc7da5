import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** A child process that tells what it has to tell in lines of JSON. */
export class Launched implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  readonly #kill: () => void;

  /** `exitSignal`: what the child gets if this process ends before it. */
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

  /** The next line for which `read` gives something. Rejects when the process ends without one. */
  async next<T>(read: (line: unknown) => T | undefined): Promise<T> {
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done === true) throw new Error('a process that was started ended early: what it said is above');
      const message = read(JSON.parse(value));
      if (message !== undefined) return message;
    }
  }

  /** Sends the process a signal. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Asks the process to end, and waits for that. If we end before, it is killed. */
  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#kill);
    if (this.hasEnded) return;
    const ended = once(this.#child, 'exit');
    const guard = setTimeout(() => this.#child.kill('SIGKILL'), 15_000);
    this.#child.kill('SIGTERM');
    await ended;
    clearTimeout(guard);
  }
}

/** How a program of ours is started. */
interface LaunchOptions {
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts a TypeScript program on the Node that runs this one; its errors go where ours go. */
export function launch(program: URL, { args = [], environment = {} }: LaunchOptions = {}): Launched {
  const command = [fileURLToPath(program), ...args];
  return new Launched(spawn(process.execPath, command, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] }));
}

/** Exits at a signal: the handlers of the exit end the processes that were started, which would run on otherwise. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
}
