import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { connectRedis } from '../redis/connect.ts';
import { describeRedisUrl } from '../redis-url.ts';
import { findFreePort } from './proxy-on-free-ports.ts';

const CONNECT_TIMEOUT_MS = 2000;
const OLDEST_MAJOR = 7;
const START_TRIES = 3;
const START_TIMEOUT_MS = 5000;

/** The Redis that the demo works with. Disposing ends it if it is the demo's own. */
export interface ChosenRedis extends AsyncDisposable {
  /** Undefined for memory alone. */
  readonly url: string | undefined;
  /** Whether it answered, or was just started. */
  readonly isThere: boolean;
  /** Which one it is and why, for people. */
  readonly description: string;
}

/** The given Redis, else one started for the demo, else none; never rejects. */
export async function chooseRedis(givenUrl: string | undefined, searchPath: string): Promise<ChosenRedis> {
  if (givenUrl !== undefined) {
    const where = `REDIS_URL, ${describeRedisUrl(givenUrl)}`;
    const failure = await whyUnreachable(givenUrl);
    if (failure === undefined) return foreign(givenUrl, where, true);
    return foreign(givenUrl, `${where}, does not answer (${failure}): memory alone until it does`);
  }
  const program = findRedisProgram(searchPath);
  if (program === undefined) {
    return foreign(undefined, 'none: memory alone (no redis-server 7 or newer on PATH, and REDIS_URL is not set)');
  }
  try {
    const own = await LocalRedis.start(program);
    return {
      url: `redis://127.0.0.1:${own.port}`,
      isThere: true,
      description: `redis-server ${program.version} on port ${own.port}, started for the demo (${program.path})`,
      [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
    };
  } catch (error) {
    return foreign(undefined, `none: memory alone (${error instanceof Error ? error.message : String(error)})`);
  }
}

function foreign(url: string | undefined, description: string, isThere = false): ChosenRedis {
  return { url, isThere, description, [Symbol.asyncDispose]: async () => {} };
}

async function whyUnreachable(url: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const connection = connectRedis(
    {
      url,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      commandTimeoutMs: CONNECT_TIMEOUT_MS,
    },
    { onTransition: (transition) => resolve(transition.state === 'connected' ? undefined : transition.reason) },
  );
  const timer = setTimeout(resolve, 2 * CONNECT_TIMEOUT_MS, 'no answer in time');
  const failure = await promise;
  clearTimeout(timer);
  await connection.close();
  return failure;
}

/** A program that is a Redis server of a version that toncache works with when started under the name `redis-server`. */
interface RedisProgram {
  readonly path: string;
  readonly version: string;
}

/** The first Redis server, version 7 or newer, on a search path (of the form of PATH). */
function findRedisProgram(searchPath: string): RedisProgram | undefined {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '');
  // Debian's redis-check-rdb, in redis-tools, is the whole server: its name alone decides what it does.
  for (const path of ['redis-server', 'redis-check-rdb'].flatMap((name) => folders.map((it) => join(it, name)))) {
    const version = isExecutable(path) ? versionOf(path) : undefined;
    if (version !== undefined && Number.parseInt(version, 10) >= OLDEST_MAJOR) return { path, version };
  }
  return undefined;
}

/** A Redis server of the demo's own, on 127.0.0.1; it keeps nothing on disk and ends with this process at the latest. */
class LocalRedis implements AsyncDisposable {
  readonly port: number;
  readonly #server: ChildProcess;
  readonly #guard: ChildProcess;

  private constructor(port: number, server: ChildProcess, guard: ChildProcess) {
    this.port = port;
    this.#server = server;
    this.#guard = guard;
  }

  /** Resolves when it accepts connections; rejects with its own words if it never does. */
  static async start({ path }: RedisProgram): Promise<LocalRedis> {
    for (let tries = 1; ; tries++) {
      // Below the range of outgoing connections, where a client could be given the server's own port.
      const port = await findFreePort(randomInt(10_000, 20_000));
      const server = launch(path, port);
      const guard = killWithUs(server);
      try {
        await untilReady(server);
        return new LocalRedis(port, server, guard);
      } catch (error) {
        // Somebody may have taken the port since it was looked at.
        if (tries === START_TRIES) throw error;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#server);
    await end(this.#guard);
  }
}

function launch(path: string, port: number): ChildProcessByStdio<null, Readable, null> {
  const listening = ['--bind', '127.0.0.1', '--port', String(port)];
  const noFile = ['--save', '', '--appendonly', 'no', '--dir', tmpdir(), '--dbfilename', `toncache-demo-${port}.rdb`];
  const bounded = ['--maxmemory', '128mb', '--maxmemory-policy', 'allkeys-lru'];
  return spawn(path, [...listening, ...noFile, ...bounded], {
    argv0: 'redis-server',
    stdio: ['ignore', 'pipe', 'ignore'],
    // In a group of its own: Ctrl-C is for the demo, which ends it after the last write.
    detached: true,
  });
}

/** A shell that kills the server when our end of its stdin closes, which happens however we end, SIGKILL included. */
function killWithUs(server: ChildProcess): ChildProcess {
  const guard = spawn('sh', ['-c', 'read -r _; kill -9 "$1"', 'guard', String(server.pid ?? '')], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Its process id may be another's once the server has ended.
  server.once('exit', () => guard.kill('SIGKILL'));
  return guard;
}

async function untilReady(server: ChildProcessByStdio<null, Readable, null>): Promise<void> {
  const timer = setTimeout(() => server.kill('SIGKILL'), START_TIMEOUT_MS);
  let said = 'it said nothing';
  let isReady = false;
  for await (const line of createInterface({ input: server.stdout })) {
    said = line;
    isReady = line.includes('Ready to accept connections');
    if (isReady) break;
  }
  clearTimeout(timer);
  if (!isReady) throw new Error(`redis-server does not start: ${said}`);
  // What is said later has to be read too: a full pipe would stop the server.
  server.stdout.resume();
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

function versionOf(path: string): string | undefined {
  const { stdout } = spawnSync(path, ['--version'], { argv0: 'redis-server', encoding: 'utf8', timeout: 5000 });
  return /^Redis server v=(\S+)/.exec(stdout ?? '')?.[1];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
