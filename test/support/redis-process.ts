import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { GUARD_MS } from './patience.ts';

/** One launch of a Redis server, as a process or as a container: a restart is another launch. */
export interface RunningRedis {
  readonly host: string;
  readonly pid: number;
  /** Resolves once the server has ended, immediately if it had ended before. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** The server keeps its connections and does not answer (SIGSTOP). */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** Where and how one Redis server is launched. */
export interface Launch {
  /** See {@link findRedisServer}. */
  readonly program: string;
  readonly port: number;
  /** Working directory of the server; removed if this process ends before it has killed the server. */
  readonly dir: string;
  /** Redis options, such as `['--maxmemory', '1mb']`. */
  readonly args: readonly string[];
  /** The contents of a configuration file, in `dir`; a sentinel needs one, to write to. */
  readonly config?: string | undefined;
  /** Added to the environment of the server. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/** Starts a server on 127.0.0.1 and resolves when it accepts connections; rejects with its output if it never does. */
export async function launchRedisProcess({
  program,
  port,
  dir,
  args,
  config,
  environment,
}: Launch): Promise<RunningRedis> {
  const file = join(dir, 'redis.conf');
  if (config !== undefined) await writeFile(file, config);
  const settings = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir, '--save', '', '--appendonly', 'no'];
  const child = spawn(program, [...(config === undefined ? [] : [file]), ...settings, ...args], {
    argv0: 'redis-server',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  const ended = once(child, 'exit');
  const guard = killWithUs(pid, dir);
  void ended.then(() => guard.kill('SIGKILL'));
  await untilReady(child);

  return {
    host: '127.0.0.1',
    pid,
    kill: async (signal) => {
      child.kill(signal);
      await ended;
    },
    pause: async () => void child.kill('SIGSTOP'),
    resume: async () => void child.kill('SIGCONT'),
  };
}

/**
 * A shell in its own session that kills the server when our end of its stdin closes, which happens at any kind of end:
 * exit handlers do not run when a test worker is killed, and a paused server only reacts to SIGKILL.
 */
function killWithUs(pid: number, dir: string): ChildProcess {
  const script = 'read -r _; kill -9 "$1"; rm -rf "$2"';
  const stdio: ['pipe', 'ignore', 'ignore'] = ['pipe', 'ignore', 'ignore'];
  return spawn('sh', ['-c', script, 'guard', String(pid), dir], { stdio, detached: true });
}

/** The second one is a sentinel's. */
const READY = /Ready to accept connections|Sentinel ID is/;

async function untilReady(child: ChildProcessByStdio<null, Readable, Readable>): Promise<void> {
  const timer = setTimeout(() => child.kill('SIGKILL'), GUARD_MS);
  const said: string[] = [];
  let ready = false;
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line);
    ready = READY.test(line);
    if (ready) break;
  }
  clearTimeout(timer);
  if (!ready) {
    throw new Error(`redis-server ended before it was ready:\n${said.join('\n')}${await text(child.stderr)}`);
  }
  // Later output must be read too: a full pipe would stop the server.
  child.stdout.resume();
  child.stderr.resume();
}
