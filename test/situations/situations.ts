import { X509Certificate } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { Restore } from '../../src/tools/simulator/database-fall.ts';
import { failed, notServed, rateLimited, redirected, refusedKey } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { asAdmin } from '../support/as-admin.ts';
import { startRedisSentinels } from '../support/redis-sentinels.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';
import { frontWithKey, frontWithTls } from './fronts.ts';
import { PARTIAL } from './partial.ts';
import { closeIndexer, type Scene, type Situation } from './scene.ts';

type Injected = Parameters<Indexer['faults']['inject']>;

const each =
  (fault: Injected[0], operation?: 'pendingTraces' | 'adjacentTransactions') =>
  ({ indexers }: Scene): void => {
    for (const { faults } of indexers) faults.inject(fault, operation === undefined ? {} : { operation });
  };

const only =
  (change: (indexer: Indexer, scene: Scene) => unknown) =>
  (scene: Scene): unknown =>
    scene.indexers[0] && change(scene.indexers[0], scene);

/** As a balancer in front of two, one of which is dead: every second request fails. */
function halfDead({ faults }: Indexer, { timers }: Scene): void {
  const timer = setInterval(() => {
    const injected = faults.inject(failed(502));
    setTimeout(() => injected.remove(), 250).unref();
  }, 500).unref();
  timers.add(timer);
}

/** The snapshots of Redis fail, so it refuses writes. */
const cannotSave = (redis: RedisServer) =>
  asAdmin(redis, async (admin) => {
    await admin.config('SET', 'save', '3600 1');
    const [, folder] = (await admin.config('GET', 'dir')) as string[];
    if (folder !== undefined) await rm(folder, { recursive: true });
    await admin.bgsave();
  });

/** Servers in place of Redis. */
const impostors = new WeakMap<RedisServer, Server>();

/** As Redis in protected mode, in place of the one that was there. */
async function protectedMode({ redis }: Scene): Promise<void> {
  const port = Number(new URL(redis.url).port);
  await redis.kill();
  const words = '-DENIED Redis is running in protected mode because no password is set for the default user.\r\n';
  const server = createServer((socket) => socket.on('error', () => {}).end(words))
    .unref()
    .listen(port, '127.0.0.1');
  impostors.set(redis, server);
}

/** On a busy machine Redis is slow for a moment within a minute, and that would be the first line. */
const WITHOUT_REDIS = { REDIS_URL: '' };

/** In front of the indexer: a TLS server whose certificate is trusted, and valid for {@link CERTIFICATE_MS}. */
async function shortCertificate({ indexers: [indexer], folder, stack }: Scene) {
  const file = join(folder, 'certificate.pem');
  const certificate = selfSignedCertificate('indexer', '127.0.0.1', new Date(Date.now() + CERTIFICATE_MS));
  await writeFile(file, certificate.cert);
  const url = await frontWithTls(indexer?.port ?? 0, certificate, stack);
  return { UPSTREAM_URL: url, NODE_EXTRA_CA_CERTS: file, ...WITHOUT_REDIS };
}

/** Open connections live on. */
async function untilExpired({ folder }: Scene): Promise<void> {
  const { validTo } = new X509Certificate(await readFile(join(folder, 'certificate.pem')));
  await delay(Date.parse(validTo) - Date.now());
}

/** Long enough for the start, and for the minute of health that a Prometheus sees. */
const CERTIFICATE_MS = 45_000;

/** Two indexers at one port of two addresses. The name is that of the first one. */
async function nameOfTwo(scene: Scene) {
  const startAt = Date.now() - 60 * 400;
  const [old, other] = [new Chain({ startAt }), new Chain({ startAt })];
  const first = await startIndexer({ chain: old });
  const second = await startIndexer({ chain: other, port: first.port, host: '127.0.0.2' });
  for (const indexer of [first, second]) scene.stack.defer(() => indexer.close());
  scene.indexers = [first, second];
  const file = join(scene.folder, 'address');
  await writeFile(file, '127.0.0.1');
  return {
    UPSTREAM_URL: `http://indexer.test:${first.port}`,
    NODE_OPTIONS: `--import=${new URL('moving-name.ts', import.meta.url)}`,
    MOVING_NAME: file,
    ...WITHOUT_REDIS,
  };
}

/** The name moves to the second indexer. The first one still answers, and stands still. */
async function moveName(scene: Scene): Promise<void> {
  const [first, second] = scene.indexers;
  if (first === undefined || second === undefined) return;
  first.replicas[0].lag(Number.POSITIVE_INFINITY);
  scene.indexers = [second, first];
  await writeFile(join(scene.folder, 'address'), '127.0.0.2');
}

const RECENT_MS = 10_000;

function requestsAtEach({ indexers }: Scene): string {
  const since = Date.now() - RECENT_MS;
  const [now, before] = indexers.map(({ requests }) => requests.recent.filter(({ at }) => at > since).length);
  return `in the last 10 s ${now} requests at the new address, ${before} at the old one`;
}

/** As a balancer that is told first: the second instance gets no requests, ends, and is replaced. */
async function replaceSecond({ instances, addInstance }: Scene): Promise<void> {
  const [leaving] = instances.splice(1, 1);
  leaving?.signal('SIGTERM');
  await leaving?.ended;
  await addInstance();
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
  'one of two dead': { cause: only(closeIndexer), indexers: 2 },
  'the indexer is down': { cause: only(closeIndexer) },
  'one operation slow': { cause: each({ kind: 'hang' }, 'adjacentTransactions') },
  'the indexer is slow': { cause: only((indexer) => Object.assign(indexer.faults, { latencyMs: 3000 })) },
  'restored, older': {
    cause: only(({ replicas: [replica] }) => replica.fallBack(new Restore(Date.now(), 500_000, 1.01))),
    historyMs: 600_000,
    withinSeconds: 60,
    // The database catches up for hours.
    end: 'none',
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
  'Redis gone': { cause: ({ redis }) => redis.kill(), end: ({ redis }) => redis.restart() },
  'Redis read-only by mistake': {
    cause: ({ redis }) => asAdmin(redis, (admin) => admin.replicaof('127.0.0.1', 1)),
    end: ({ redis }) => asAdmin(redis, (admin) => admin.replicaof('NO', 'ONE')),
  },
  'Redis cannot save': {
    cause: ({ redis }) => cannotSave(redis),
    end: ({ redis }) => asAdmin(redis, (admin) => admin.config('SET', 'stop-writes-on-bgsave-error', 'no')),
  },
  'Redis in protected mode': {
    cause: protectedMode,
    end: async ({ redis }) => {
      impostors.get(redis)?.close();
      await redis.restart();
    },
  },
  'Redis gone + indexer slow': {
    cause: ({ redis, indexers: [indexer] }) => {
      if (indexer !== undefined) indexer.faults.latencyMs = 3000;
      return redis.kill();
    },
    end: ({ redis }) => redis.restart(),
  },
  'Redis failover by Sentinels': {
    around: async (scene) => {
      const sentinels = scene.stack.use(await startRedisSentinels());
      scene.redis = sentinels.primary;
      return { REDIS_URL: sentinels.url };
    },
    cause: ({ redis }) => redis.kill(),
  },
  'a certificate expires': {
    around: shortCertificate,
    cause: untilExpired,
    end: 'none',
    withinSeconds: 180,
  },
  'a name moves, the old host alive': { around: nameOfTwo, cause: moveName, also: requestsAtEach, withinSeconds: 75 },
  'a rolling upgrade': { cause: (scene) => void replaceSecond(scene), instances: 2 },
  'a wrong key at a second instance': {
    around: async ({ indexers: [indexer], stack }) => ({
      UPSTREAM_URL: await frontWithKey(indexer?.port ?? 0, 'the-right-key', stack),
      UPSTREAM_API_KEY: 'the-right-key',
    }),
    end: 'none',
    cause: ({ addInstance }) => addInstance({ UPSTREAM_API_KEY: 'a-wrong-key' }),
  },
  ...PARTIAL,
};
