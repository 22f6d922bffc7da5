import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { TestRunner } from 'vitest';
import { canInstall, installPackage } from './apt.ts';
import { dockerAnswers } from './redis-container.ts';

/**
 * The path of a program that is a Redis server of version 7 or newer when it is started under the name (argv[0])
 * `redis-server`, or undefined if only a container is possible. The steps: PATH, Docker, and as root on Debian an
 * installation of redis-tools, announced on stderr. Rejects, with the package to install, if no step leads to a Redis.
 */
export function findRedisServer(): Promise<string | undefined> {
  found ??= findOnce();
  return found;
}

/**
 * The program, for uses that containers do not support: access to each other at 127.0.0.1, or to files of this machine.
 * If there are only containers the running test is skipped with the reason; in CI, and outside of a test, this rejects
 * with it.
 */
export async function redisProgramFor(what: string): Promise<string> {
  const program = await findRedisServer();
  return program ?? skipFor(what, process.env['CI'] ? undefined : TestRunner.getCurrentTest()?.context);
}

/** See {@link redisProgramFor}; `test` is the running one. */
export function skipFor(what: string, test: { readonly skip: (reason: string) => never } | undefined): never {
  const reason = `${what} takes a redis-server 7 or newer on PATH: containers see neither each other at 127.0.0.1 nor files of this machine. Install one (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis).`;
  test?.skip(reason);
  throw new Error(reason);
}

/** Searched once in a process: each search runs programs to ask for their version. */
let found: Promise<string | undefined> | undefined;

async function findOnce(): Promise<string | undefined> {
  const installed = redisServerOn(process.env['PATH']);
  if (installed !== undefined) return installed;
  if (await dockerAnswers()) return undefined;
  let cause: unknown;
  if (canInstall()) {
    const why =
      'No redis-server and no Docker here (the server is in this package; no service is installed or started)';
    cause = await installPackage('redis-tools', why).catch((error: unknown) => error);
    const justInstalled = redisServerOn(process.env['PATH']);
    if (justInstalled !== undefined) return justInstalled;
  }
  throw new Error(
    'The tests need a real Redis, version 7 or newer, and found none. Install one (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis), or start Docker.',
    { cause },
  );
}

/** The first program on this search path (in the form of PATH) that is a Redis server of version 7 or newer. */
function redisServerOn(searchPath = ''): string | undefined {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '');
  // Debian's redis-check-rdb, in redis-tools, is the whole server: its name alone decides what it does.
  return ['redis-server', 'redis-check-rdb']
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((program) => existsSync(program) && versionOf(program) >= 7);
}

function versionOf(program: string): number {
  const { stdout } = spawnSync(program, ['--version'], { argv0: 'redis-server', encoding: 'utf8' });
  return Number(/^Redis server v=(\d+)/.exec(stdout ?? '')?.[1] ?? 0);
}
