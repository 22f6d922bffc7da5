import { expect } from 'vitest';
import { redisProgramFor } from './find-redis-server.ts';
import { adminOf, waitFor } from './redis-cluster.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import type { Certificate } from './self-signed-certificate.ts';

const SENTINELS = 3;

/** The time without an answer after which a sentinel considers the primary down. */
const DOWN_AFTER_MS = 500;

/** A test's options for its own sentinels. */
export interface RedisSentinelsOptions {
  /** Redis options of the primary and its replica; the default user must need no password. */
  readonly args?: readonly string[];
  /** Lines of the sentinels' own configuration. */
  readonly sentinelConfig?: readonly string[];
  /** The sentinels' name for the primary. */
  readonly host?: string;
  /** See {@link startRedis}. */
  readonly certificate?: Certificate;
}

/**
 * Starts a primary, a replica and three sentinels; resolves when a failover is possible. Not possible in containers.
 */
export async function startRedisSentinels(options: RedisSentinelsOptions = {}): Promise<RedisSentinels> {
  await redisProgramFor('A Redis with sentinels');
  const { args = [], sentinelConfig = [], host = '127.0.0.1', certificate } = options;
  const shown = certificate && { certificate };
  await using starting = new AsyncDisposableStack();
  const primary = starting.use(await startRedis({ args, ...shown }));
  const replica = starting.use(
    await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port), ...args], ...shown }),
  );
  const config = [
    'sentinel resolve-hostnames yes',
    'sentinel announce-hostnames yes',
    `sentinel monitor primary ${host} ${primary.port} 2`,
    `sentinel down-after-milliseconds primary ${DOWN_AFTER_MS}`,
    'sentinel failover-timeout primary 5000',
    ...sentinelConfig,
  ].join('\n');
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, async () =>
      starting.use(await startRedis({ args: ['--sentinel'], config: `${config}\n`, ...shown })),
    ),
  );
  for (const { port } of sentinels) {
    const admin = starting.adopt(adminOf(port, certificate), (it) => it.disconnect());
    await waitFor(async () => {
      const [, , ...pairs] = (await admin.call('sentinel', 'master', 'primary')) as string[];
      const numberOf = (name: string) => Number(pairs[pairs.indexOf(name) + 1]);
      expect([numberOf('num-slaves'), numberOf('num-other-sentinels')]).toEqual([1, SENTINELS - 1]);
    });
    admin.disconnect();
  }
  starting.move();
  return new RedisSentinels(primary, replica, sentinels);
}

/** A primary, its replica, and the sentinels that watch them under the name `primary`. */
export class RedisSentinels implements AsyncDisposable {
  readonly primary: RedisServer;
  readonly replica: RedisServer;
  readonly sentinels: readonly RedisServer[];

  constructor(primary: RedisServer, replica: RedisServer, sentinels: readonly RedisServer[]) {
    this.primary = primary;
    this.replica = replica;
    this.sentinels = sentinels;
  }

  /** With these credentials (`user:password`) and further parameters, if any. */
  urlFor(credentials?: string, parameters = ''): string {
    const hosts = this.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `redis-sentinel://${credentials === undefined ? '' : `${credentials}@`}${hosts}/0?name=primary${parameters}`;
  }

  get url(): string {
    return this.urlFor();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.primary, this.replica, ...this.sentinels].map((server) => server.stop()));
  }
}
