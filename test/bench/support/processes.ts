import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Launched } from '../../support/launch.ts';
import { metricAt } from '../../support/metric.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 50;

/** A server that accepts requests at a port of 127.0.0.1. */
export interface Server extends AsyncDisposable {
  readonly port: number;
  /** The root of its process tree. */
  readonly pid: number;
}

/**
 * Starts a program pinned to cores (in the syntax of `taskset -c`; default all), with its child processes. Its errors
 * go to this process's stderr.
 */
export function launchPinned(
  command: readonly string[],
  cores = `0-${availableParallelism() - 1}`,
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Launched {
  const child = spawn('taskset', ['-c', cores, ...command], { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  // SIGTERM, because the workers of nginx survive a SIGKILL of their master.
  return new Launched(child, 'SIGTERM');
}

/** Starts a server. Resolves when it accepts connections at this port; rejects if it does not in time. */
export async function startServer(
  command: readonly string[],
  cores: string | undefined,
  port: number,
): Promise<Server> {
  const launched = launchPinned(command, cores);
  for (const deadlineAt = performance.now() + READY_WITHIN_MS; !(await accepts(port)); await delay(LOOK_EVERY_MS)) {
    if (performance.now() < deadlineAt && !launched.hasEnded) continue;
    await launched[Symbol.asyncDispose]();
    throw new Error(`${command[0]} does not listen: its output is above`);
  }
  return Object.assign(launched, { port });
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const { promise, resolve: settle } = Promise.withResolvers<boolean>();
  socket.once('connect', () => settle(true)).once('error', () => settle(false));
  const accepted = await promise;
  socket.destroy();
  return accepted;
}

/** toncache, started by `npm start`. */
export interface Toncache extends Server {
  /** Requests to the indexer since the start, by its own metrics: all, or those for an operation. */
  upstreamRequests(operation?: string): Promise<number>;
}

/**
 * Starts toncache with these environment settings on free ports; `source`: a folder with toncache in it, default this
 * one.
 */
export async function startToncache(
  settings: Readonly<Record<string, string>>,
  { source = ROOT, cores }: { readonly source?: string; readonly cores?: string } = {},
): Promise<Toncache> {
  const { scripts } = JSON.parse(await readFile(resolve(source, 'package.json'), 'utf8'));
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const env = { PATH: path, PORT: '0', ADMIN_PORT: '0', NETWORK: 'bench', ...settings };
  const server = launchPinned(['sh', '-c', scripts.start], cores, { cwd: source, env });
  const { publicUrl, adminUrl } = await server.next((line) => {
    if (typeof line !== 'object' || line === null || !('publicUrl' in line) || !('adminUrl' in line)) return undefined;
    return { publicUrl: String(line.publicUrl), adminUrl: String(line.adminUrl) };
  });
  return Object.assign(server, {
    port: Number(new URL(publicUrl).port),
    upstreamRequests: (operation?: string) =>
      metricAt(adminUrl, 'upstreamRequests', operation === undefined ? {} : { operation }),
  });
}
