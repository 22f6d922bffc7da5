import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };
import { compiledCode } from './compile-cache.ts';
import { type MetricName, metricAt } from './metric.ts';
import { TEST_GUARD_MS } from './patience.ts';
import { readLogLine } from './start-proxy.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Node's arguments in `npm run dev`: those of `npm start`, but for the sources. Tests need no build. */
const COMMAND = manifest.scripts.dev.replace('exec node ', '').split(' ');

/** A line of the log, parsed. */
export interface LoggedLine {
  /** In pino's numbers: 30 for info, 40 for warn. */
  readonly level: number;
  readonly msg: string;
  readonly publicUrl?: string;
  readonly adminUrl?: string;
  readonly err?: { readonly message: string; readonly code?: string };
}

/** The program, run by the Node of the tests; the command behind `npm run dev` by default. */
export interface Program {
  readonly args: readonly string[];
  readonly cwd: string;
  /** Another user than the one of the tests, who must be root. */
  readonly uid?: number;
  /** The maximum number of open files; by default the limit of the tests. */
  readonly openFiles?: number;
}

/** The command behind `npm run dev`. */
export const COMMAND_OF_DEV: Program = { args: COMMAND, cwd: ROOT };

/** The exit of a process, with its standard error. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The command behind `npm run dev`, in a separate process with only the given environment. */
export class ProxyProcess implements AsyncDisposable {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #events = new EventEmitter<{ line: [] }>();
  #output = '';
  #errors = '';

  /** It is killed after `guardMs`, so that no test leaves it behind. */
  constructor(
    environment: Readonly<Record<string, string>>,
    guardMs = TEST_GUARD_MS,
    { args, openFiles, ...how }: Program = COMMAND_OF_DEV,
  ) {
    const command = [process.execPath, ...args];
    const limited = openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh'];
    const [program = '', ...rest] = [...limited, ...command];
    this.#child = spawn(program, rest, {
      ...how,
      env: { PORT: '0', ADMIN_PORT: '0', ...compiledCode(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const guard = setTimeout(() => this.#child.kill('SIGKILL'), guardMs);
    // `close` comes after all of its output.
    this.ended = once(this.#child, 'close').then(([code, signal]): Ended => {
      clearTimeout(guard);
      this.#events.emit('line');
      return { code, signal };
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
      this.#events.emit('line');
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
  }

  /** Starts one and resolves when it is ready; rejects with its output if it never is. */
  static async start(
    environment: Readonly<Record<string, string>>,
    guardMs?: number,
    program?: Program,
  ): Promise<ProxyProcess> {
    const started = new ProxyProcess(environment, guardMs, program);
    await started.untilLogged('toncache is ready');
    return started;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get output(): string {
    return this.#output;
  }

  get errors(): string {
    return this.#errors;
  }

  /** The whole lines of its log; throws for a line that is not JSON. */
  get log(): readonly LoggedLine[] {
    return this.#output
      .split('\n')
      .slice(0, -1)
      .map((line): LoggedLine => readLogLine(line));
  }

  get url(): string {
    return this.log.find((line) => line.publicUrl !== undefined)?.publicUrl ?? '';
  }

  get adminUrl(): string {
    return this.log.find((line) => line.adminUrl !== undefined)?.adminUrl ?? '';
  }

  /** Resolves with the first line whose message contains this. */
  async untilLogged(message: string): Promise<LoggedLine> {
    for (;;) {
      const line = this.log.find(({ msg }) => msg.includes(message));
      if (line !== undefined) return line;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`it ended without saying "${message}":\n${this.#output}${this.#errors}`);
      }
      await once(this.#events, 'line');
    }
  }

  /** See {@link metricAt}. */
  metric(name: MetricName, labels?: Readonly<Record<string, string>>): Promise<number> {
    return metricAt(this.adminUrl, name, labels);
  }

  /**
   * The number of libuv's threads for look-ups of names and other work; 0 before the first work, and without `/proc`.
   */
  async workerThreads(): Promise<number> {
    const tasks = `/proc/${this.#child.pid}/task`;
    const ids = await readdir(tasks).catch(() => []);
    const names = await Promise.all(ids.map((id) => readFile(`${tasks}/${id}/comm`, 'utf8').catch(() => '')));
    return names.filter((name) => name === 'libuv-worker\n').length;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}
