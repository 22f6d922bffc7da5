import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer, redisProgramFor } from './find-redis-server.ts';
import { freePort } from './free-port.ts';
import { launchRedisContainer } from './redis-container.ts';
import { launchRedisProcess, type RunningRedis } from './redis-process.ts';
import type { Certificate } from './self-signed-certificate.ts';

/** A test's options for its own server. */
export interface RedisOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** Redis options, such as `['--maxmemory', '1mb']`; not `logfile` or `loglevel`: its log shows when it is ready. */
  readonly args?: readonly string[];
  /** The contents of its configuration file; none by default. */
  readonly config?: string;
  /** Its certificate for clients, which must then use TLS, and the one that it and its peers trust. */
  readonly certificate?: Certificate;
  /** Added to its environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Starts a Redis server that belongs to the caller: it keeps nothing on disk, and ends with this process at the latest.
 * Resolves when it accepts connections; rejects with its own words if it does not start.
 */
export async function startRedis({
  port,
  args = [],
  config,
  certificate,
  environment,
}: RedisOptions = {}): Promise<RedisServer> {
  const hasFiles = [config, certificate, environment].some((file) => file !== undefined);
  const program = hasFiles ? await redisProgramFor('A Redis with files of its own') : await findRedisServer();
  const dir = await mkdtemp(join(tmpdir(), 'toncache-redis-'));
  const tls = certificate === undefined ? [] : await tlsArguments(dir, certificate);
  for (let attempt = 1; ; attempt++) {
    const chosen = port ?? (await freePort());
    const launch = () =>
      program === undefined
        ? launchRedisContainer({ port: chosen, args })
        : launchRedisProcess({
            program,
            port: chosen,
            dir,
            args: [...(certificate ? ['--port', '0', '--tls-port', String(chosen)] : []), ...tls, ...args],
            config,
            environment,
          });
    try {
      return new RedisServer(certificate ? 'rediss' : 'redis', chosen, dir, launch, await launch());
    } catch (error) {
      // Another test may have taken the port since the check.
      if (
        port !== undefined ||
        attempt === 5 ||
        !/address already in use|port is already allocated/i.test(`${error}`)
      ) {
        await rm(dir, { recursive: true, force: true });
        throw error;
      }
    }
  }
}

/** A real Redis server that a test may kill, pause and restart. */
export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly #scheme: string;
  readonly #dir: string;
  readonly #launch: () => Promise<RunningRedis>;
  #running: RunningRedis;

  constructor(scheme: string, port: number, dir: string, launch: () => Promise<RunningRedis>, running: RunningRedis) {
    this.port = port;
    this.#scheme = scheme;
    this.#dir = dir;
    this.#launch = launch;
    this.#running = running;
  }

  /** Without user and password, with any arguments. */
  get url(): string {
    return `${this.#scheme}://${this.#running.host}:${this.port}`;
  }

  get pid(): number {
    return this.#running.pid;
  }

  /** Resolves once the server has ended, immediately if it had ended before. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    return this.#running.kill(signal);
  }

  /** The server keeps its connections, queues new ones, and does not answer (SIGSTOP). */
  pause(): Promise<void> {
    return this.#running.pause();
  }

  /** Ends a pause: waiting requests are answered. */
  resume(): Promise<void> {
    return this.#running.resume();
  }

  /** Kills the server if it still runs and starts an empty one with the same port and arguments. */
  async restart(): Promise<void> {
    await this.kill();
    this.#running = await this.#launch();
  }

  /** Kills the server and removes its directory. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#dir, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

async function tlsArguments(dir: string, { key, cert }: Certificate): Promise<string[]> {
  const [keyFile, certFile] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  await Promise.all([writeFile(keyFile, key), writeFile(certFile, cert)]);
  return [
    ...['--tls-key-file', keyFile, '--tls-cert-file', certFile, '--tls-ca-cert-file', certFile],
    ...['--tls-auth-clients', 'no', '--tls-replication', 'yes', '--tls-cluster', 'yes'],
  ];
}
