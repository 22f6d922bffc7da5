import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND = ['-r', './src/require-node-24.cjs', 'src/cli/main.ts', 'demo'];
export const RIGHT = 'Every answer was right, checked against the chain.';

export interface Settings {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** For node itself, before the command. */
  readonly nodeArgs?: readonly string[];
}

/** The real command as a child; killed, at the latest, with the test. */
export class Demo {
  static readonly #running = new Set<ChildProcess>();
  readonly child: ChildProcess;
  readonly exitCode: Promise<number | null>;
  #said = '';

  constructor({ args = [], env = {}, nodeArgs = [] }: Settings) {
    const { REDIS_URL: _, NO_COLOR: __, ...inherited } = process.env;
    this.child = spawn(process.execPath, [...nodeArgs, ...COMMAND, ...args], {
      cwd: ROOT,
      env: { ...inherited, FORCE_COLOR: '1', PORT: '0', ADMIN_PORT: '0', PATH: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exitCode = once(this.child, 'exit').then(([code]) => code as number | null);
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#said += text;
      });
    }
    Demo.#running.add(this.child);
    void this.exitCode.then(() => Demo.#running.delete(this.child));
  }

  /** Kills what a test has left running. */
  static killAll(): void {
    for (const child of Demo.#running) child.kill('SIGKILL');
  }

  /** Standard output and error up to now. */
  get said(): string {
    return this.#said;
  }

  async untilSaid(pattern: RegExp): Promise<RegExpExecArray> {
    return vi.waitFor(
      () => {
        const found = pattern.exec(this.#said);
        if (found === null) throw new Error(`not said yet: ${pattern}\n${this.#said}`);
        return found;
      },
      { timeout: 25_000, interval: 20 },
    );
  }

  untilCrowd(): Promise<unknown> {
    return this.untilSaid(/until Ctrl-C\n/);
  }
}
