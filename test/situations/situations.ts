import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { Restore } from '../../src/tools/simulator/database-fall.ts';
import { failed, notServed, rateLimited, redirected, refusedKey } from '../../src/tools/simulator/faults.ts';
import type { Indexer } from '../../src/tools/simulator/indexer.ts';
import { asAdmin } from '../support/as-admin.ts';
import type { RedisServer } from '../support/redis-server.ts';

/** The servers around one toncache, which a situation breaks. */
export interface Scene {
  indexers: readonly Indexer[];
  readonly redis: RedisServer;
  /** The indexers' clocks are ahead by this. */
  aheadMs: number;
  /** The client of the further requests, 25 a second. */
  crawler: string | undefined;
}

/** What goes wrong, and for the table. */
interface Situation {
  readonly cause: (scene: Scene) => unknown;
  /** The number of indexers; default 1. */
  readonly indexers?: number;
  /** The file of settings. */
  readonly settings?: object;
  /** The first line is awaited this long; default 30. */
  readonly withinSeconds?: number;
}

type Injected = Parameters<Indexer['faults']['inject']>;

const each =
  (fault: Injected[0], operation?: 'pendingTraces' | 'adjacentTransactions') =>
  ({ indexers }: Scene): void => {
    for (const { faults } of indexers) faults.inject(fault, operation === undefined ? {} : { operation });
  };

const only =
  (change: (indexer: Indexer) => unknown) =>
  ({ indexers: [first] }: Scene): unknown =>
    first && change(first);

/** As a balancer in front of two, one of which is dead: every second request fails. */
function halfDead({ faults }: Indexer): void {
  const timer = setInterval(() => {
    const injected = faults.inject(failed(502));
    setTimeout(() => injected.remove(), 250).unref();
  }, 500).unref();
  setTimeout(() => clearInterval(timer), 900_000).unref();
}

/** The snapshots of Redis fail, so it refuses writes. */
const cannotSave = (redis: RedisServer) =>
  asAdmin(redis, async (admin) => {
    await admin.config('SET', 'save', '3600 1');
    const [, folder] = (await admin.config('GET', 'dir')) as string[];
    if (folder !== undefined) await rm(folder, { recursive: true });
    await admin.bgsave();
  });

/** As Redis in protected mode, in place of the one that was there. */
async function protectedMode(redis: RedisServer): Promise<void> {
  const port = Number(new URL(redis.url).port);
  await redis.kill();
  const words = '-DENIED Redis is running in protected mode because no password is set for the default user.\r\n';
  createServer((socket) => socket.on('error', () => {}).end(words))
    .unref()
    .listen(port, '127.0.0.1');
}

export const SITUATIONS: Readonly<Record<string, Situation>> = {
  'one operation 500': { cause: each(failed(500), 'adjacentTransactions') },
  'quota by 429, 12 h': { cause: each(rateLimited('json', '43200')) },
  'quota by 403': { cause: each(refusedKey(403)) },
  'a wrong key': { cause: each(refusedKey(401)) },
  'maintenance, 503 + Retry-After': { cause: each(failed(503, 'json', '600')) },
  'a balancer, one of two dead': { cause: only(halfDead) },
  'the route to a node is cut': { cause: each({ kind: 'reset' }) },
  'an operation is not served': { cause: each(notServed('pendingTraces', 'no-redis'), 'pendingTraces') },
  'a redirect to a login': { cause: each(redirected()) },
  'one of two dead': { cause: only((indexer) => indexer.close()), indexers: 2 },
  'the indexer is down': { cause: only((indexer) => indexer.close()) },
  'one operation slow': { cause: each({ kind: 'hang' }, 'adjacentTransactions') },
  'the indexer is slow': { cause: only((indexer) => Object.assign(indexer.faults, { latencyMs: 3000 })) },
  'restored, older': {
    cause: only(({ replicas: [replica] }) => replica.fallBack(new Restore(Date.now(), 500_000, 1.01))),
    withinSeconds: 60,
  },
  'the chain stands still': {
    cause: only(({ replicas: [replica] }) => replica.lag(Number.POSITIVE_INFINITY)),
    withinSeconds: 180,
  },
  'our clock is 20 s behind': {
    cause: (scene) => {
      scene.aheadMs = 20_000;
    },
  },
  'a crawler above its limit': {
    cause: (scene) => {
      scene.crawler = '10.0.7.7';
    },
    settings: { clients: { requestsPerSecond: 10, trustedProxies: '127.0.0.1' } },
  },
  'Redis gone': { cause: ({ redis }) => redis.kill() },
  'Redis read-only by mistake': {
    cause: ({ redis }) => asAdmin(redis, (admin) => admin.replicaof('127.0.0.1', 1)),
  },
  'Redis cannot save': { cause: ({ redis }) => cannotSave(redis) },
  'Redis in protected mode': { cause: ({ redis }) => protectedMode(redis) },
  'Redis gone + indexer slow': {
    cause: ({ redis, indexers: [indexer] }) => {
      if (indexer !== undefined) indexer.faults.latencyMs = 3000;
      return redis.kill();
    },
  },
};
