import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';

/** For a server that is not measured by its CPU time. */
export const EVERY_CORE = `0-${availableParallelism() - 1}`;

const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 50;
const END_WITHIN_MS = 15_000;

/** How a server is started. */
export interface PinnedCommand {
  /** The cores that it may use, in the syntax of `taskset -c`: `0`, `0-3`. */
  readonly cores: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The server is ready once it accepts connections on this port of 127.0.0.1. */
  readonly port: number;
  /** Receives its standard output and error. */
  readonly logFile: string;
}

/** A server process that is pinned to cores, as are the processes that it starts. */
export class PinnedProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  /** SIGTERM, because the workers of nginx survive a SIGKILL of their master. */
  readonly #end = () => void this.#child.kill('SIGTERM');

  private constructor(child: ChildProcess) {
    this.#child = child;
    process.once('exit', this.#end);
  }

  /** Resolves when the server accepts connections. Rejects with its log when it ends before that. */
  static async start(command: PinnedCommand): Promise<PinnedProcess> {
    const { cores, program, args, cwd, environment, port, logFile } = command;
    const log = openSync(logFile, 'a');
    const child = spawn('taskset', ['-c', cores, program, ...args], {
      cwd,
      env: environment,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const started = new PinnedProcess(child);
    await once(child, 'spawn');
    const startedAt = performance.now();
    while (!(await accepts(port))) {
      const isLate = performance.now() - startedAt > READY_WITHIN_MS;
      if (isLate) await started[Symbol.asyncDispose]();
      if (isLate || hasEnded(child)) {
        throw new Error(`${[program, ...args].join(' ')} does not listen:\n${readFileSync(logFile, 'utf8')}`);
      }
      await after(LOOK_EVERY_MS);
    }
    return started;
  }

  /** taskset replaces itself by the program, so this is the program's own id. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#end);
    if (hasEnded(this.#child)) return;
    const ended = once(this.#child, 'exit');
    const guard = setTimeout(() => this.#child.kill('SIGKILL'), END_WITHIN_MS);
    this.#child.kill('SIGTERM');
    await ended;
    clearTimeout(guard);
  }
}

/** A port of 127.0.0.1 that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  const accepted = await promise;
  socket.destroy();
  return accepted;
}
