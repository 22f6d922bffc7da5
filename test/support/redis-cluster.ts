import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { redisProgramFor } from './find-redis-server.ts';
import { GUARD_MS } from './patience.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import type { Certificate } from './self-signed-certificate.ts';

const SLOTS = 16_384;

/** The time without an answer after which the others consider a node failed; a failover takes about as long again. */
const NODE_TIMEOUT_MS = 1000;

/** What a test can ask of a Cluster of its own. */
export interface RedisClusterOptions {
  /** Default 3. */
  readonly masters?: number;
  /** Of each master; default 0. */
  readonly replicas?: number;
  /** Redis options of every node; the default user must need no password. */
  readonly args?: readonly string[];
  /** See {@link startRedis}. */
  readonly certificate?: Certificate;
}

/** Starts a real Redis Cluster; resolves when every node knows that all slots are served. See {@link redisProgramFor}. */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  await redisProgramFor('A Redis Cluster');
  const { masters = 3, replicas = 0, args = [], certificate } = options;
  await using starting = new AsyncDisposableStack();
  const servers = await Promise.all(
    Array.from({ length: masters * (1 + replicas) }, async (_, index) =>
      starting.use(
        await startRedis({
          args: [
            ...['--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${index}.conf`],
            ...['--cluster-announce-ip', '127.0.0.1', '--cluster-node-timeout', String(NODE_TIMEOUT_MS)],
            ...['--cluster-replica-validity-factor', '0'],
            ...args,
          ],
          ...(certificate && { certificate }),
        }),
      ),
    ),
  );
  const admins = servers.map(({ port }) => starting.adopt(adminOf(port, certificate), (it) => it.disconnect()));
  const [first] = servers;
  await Promise.all(
    admins.map(async (node, index) => {
      if (index < masters) {
        const [from, to] = [index, index + 1].map((at) => Math.floor((SLOTS * at) / masters)) as [number, number];
        await node.cluster('ADDSLOTSRANGE', from, to - 1);
      }
      await node.call('cluster', 'set-config-epoch', index + 1);
    }),
  );
  for (const node of admins.slice(1)) await node.cluster('MEET', '127.0.0.1', first?.port ?? 0);
  const ids = await Promise.all(admins.map((node) => node.cluster('MYID') as Promise<string>));
  await Promise.all(
    admins.slice(masters).map(async (node, index) => {
      const master = ids[index % masters] ?? '';
      // It hears of its master by gossip.
      await waitFor(async () => expect(await node.cluster('REPLICATE', master)).toBe('OK'));
    }),
  );
  for (const node of admins) {
    await waitFor(async () => {
      expect(await node.cluster('INFO')).toContain('cluster_state:ok');
      expect(
        String(await node.cluster('NODES'))
          .trim()
          .split('\n'),
      ).toHaveLength(servers.length);
    });
  }
  for (const replica of admins.slice(masters)) {
    await waitFor(async () => expect(await replica.info('replication')).toContain('master_link_status:up'));
  }
  for (const node of admins) node.disconnect();
  starting.move();
  return new RedisCluster(servers, masters);
}

/** The nodes of a Cluster: the masters first, then the replicas, in the order of their masters. */
export class RedisCluster implements AsyncDisposable {
  readonly servers: readonly RedisServer[];
  readonly masters: readonly RedisServer[];

  constructor(servers: readonly RedisServer[], masters: number) {
    this.servers = servers;
    this.masters = servers.slice(0, masters);
  }

  /** The URL of all masters, with these credentials (`user:password`) if any. */
  urlFor(credentials?: string): string {
    const hosts = this.masters.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `redis-cluster://${credentials === undefined ? '' : `${credentials}@`}${hosts}`;
  }

  get url(): string {
    return this.urlFor();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}

/** A client for a test's own commands to one server; its errors are those of its commands. */
export function adminOf(port: number, certificate?: Certificate): Redis {
  const admin = new Redis({ port, host: '127.0.0.1', ...(certificate && { tls: { ca: certificate.cert } }) });
  return admin.on('error', () => {});
}

/** Until nothing is thrown; for beginnings, which are not part of a test. */
export async function waitFor(check: () => Promise<void>): Promise<void> {
  const giveUpAt = performance.now() + GUARD_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
    }
    await delay(50);
  }
}
