import { lookup } from 'node:dns';
import type { Logger } from 'pino';
import { judgeFromRedis } from './answer/redis-judge.ts';
import { OlderAnswers } from './cache/older-answers.ts';
import { TieredCache } from './cache/tiered-cache.ts';
import { shortened } from './clients/client-addresses.ts';
import { countWaiting } from './clients/waiting-clients.ts';
import { Clock } from './clock.ts';
import { openAdminPort } from './compose/admin-port.ts';
import type { BlockProof } from './compose/attached-proof.ts';
import { CONSTANTS, type Constants } from './compose/constants.ts';
import type { AppContext } from './compose/context.ts';
import { openIndexers } from './compose/indexers.ts';
import { openOperations } from './compose/open-operations.ts';
import { openPublicPort } from './compose/public-port.ts';
import { loadRedisClient } from './compose/redis.ts';
import { type OpenTellingDependencies, openTelling } from './compose/telling.ts';
import { openTiers } from './compose/tiers.ts';
import { type ServicesTried, tryServices } from './compose/trial.ts';
import type { Settings } from './config/schema.ts';
import { listen } from './http/listen.ts';
import { type AskResolver, Names } from './names/names.ts';
import { accessLog } from './operate/access-log.ts';
import { logEvents } from './operate/log-events.ts';
import { TopKeys } from './operate/status/top-keys.ts';
import { openBlockProof } from './proof/block-proof.ts';
import { EVERY_ENTRY } from './purge/bans.ts';
import type { DescribedMetric } from './tell/metrics.ts';
import { lifetimesWith } from './ton/lifetime-table.ts';

/** A timer that keeps a process alive. */
const LASTING_MS = 1000;

/** The world of an app; tests replace parts of it. */
export interface AppDependencies {
  readonly logger: Logger;
  /** Epoch milliseconds, instead of {@link Clock}: then neither the wall clock nor the time of Redis counts. */
  readonly now?: () => number;
  /** Milliseconds that only go forward, for durations. */
  readonly monotonic?: () => number;
  /** The wall clock of this machine, epoch milliseconds. */
  readonly wall?: () => number;
  /** 0 to 1, for jitter and `Retry-After`. */
  readonly random?: () => number;
  /** Default: {@link CONSTANTS}. */
  readonly constants?: Constants;
  /** Instead of the system's resolver. */
  readonly askResolver?: AskResolver;
  /** The destination of the log, which may be full. */
  readonly logOutput?: OpenTellingDependencies['logOutput'];
  /**
   * The name under which it counts as an instance; default: a random one. Empty for an app that is only
   * {@link App.check checked}: it shares neither purges nor the rate limit.
   */
  readonly instance?: string;
}

/** The URLs on which the two ports listen. */
export interface Listening {
  readonly publicUrl: string;
  readonly adminUrl: string;
}

/** The whole proxy as an object: one process has one, tests have many. */
export interface App {
  /** Every metric of toncache itself. */
  readonly metrics: readonly DescribedMetric[];
  /** Opens both ports when Redis is connected or unreachable. Rejects when a port is in use. */
  listen(): Promise<Listening>;
  /**
   * Checks whether the indexers are there, accept the key and have blocks; the log reports it if not. Never rejects.
   */
  askIndexers(): Promise<void>;
  /** Tries all services in the settings, and closes everything. Call it instead of {@link listen}. Never rejects. */
  check(): Promise<ServicesTried>;
  /**
   * From now on `/readyz` fails, and the public port is drained ({@link PublicServer.drain}), which loses no answer in
   * flight. Afterwards everything is closed.
   */
  close(): Promise<void>;
}

/** The only place where components are built and connected: each once, in the order of their dependencies. */
export async function createApp(dependencies: AppDependencies, settings: Settings): Promise<App> {
  const {
    logger,
    wall = Date.now,
    monotonic = performance.now.bind(performance),
    random = Math.random,
    constants = CONSTANTS,
    askResolver = lookup,
    logOutput = { dropped: 0, waitingBytes: 0 },
    instance,
  } = dependencies;
  const { http } = settings;

  const connect = await loadRedisClient(settings);
  const operations = openOperations(settings);
  const telling = openTelling({ settings, operations, logger, logOutput, monotonic });
  const { events, metrics, conditions, errors } = telling;
  const endLog = logEvents(logger, monotonic, events);
  const clock = new Clock({ wall, monotonic });
  const now = dependencies.now ?? clock.now;
  const context: AppContext = {
    settings,
    constants,
    lifetimes: lifetimesWith(settings.lifetimes, constants.rows),
    operations,
    events,
    metrics,
    conditions,
    errors,
    names: new Names(askResolver, monotonic),
    now,
    monotonic,
    random,
  };
  const onServerTime = dependencies.now === undefined ? clock.learn : () => {};
  const tiers = openTiers(context, { connect, instance, onServerTime });
  const { memory, gzip, redis, purges, instances } = tiers;
  const offset = "How far the clock of Redis is ahead of this machine's clock.";
  metrics.gauge('redis_clock_offset_seconds', offset, () => (redis === undefined ? 0 : clock.aheadOfWallMs / 1000));
  const indexers = openIndexers(context, { scripting: instance === '' ? undefined : redis?.connection, instances });
  // May be left out, as the folder `proof/`: then no answers are proven, and nothing else changes.
  const { proof }: { readonly proof?: BlockProof | undefined } = {
    proof: openBlockProof(context),
  };
  if (proof !== undefined)
    metrics.gauge('proof_entries', 'Responses in the memory tier that blocks may prove.', () => memory.provable);
  const cache = new TieredCache({
    memory,
    redis: redis?.tier,
    purges,
    hasReached: (seqno) => indexers.chain.hasReached(seqno),
    onHead: (seqno) => indexers.chain.learn(seqno),
    judge: proof && judgeFromRedis({ proofs: proof.proofs, bodies: indexers.answerBodies, now, monotonic }),
    olderAnswers: new OlderAnswers(() => {
      events.report({ name: 'older-answer' });
      conditions.set('older-answers');
    }),
    now,
  });
  const topKeys = new TopKeys(random, monotonic);
  const topClients = new TopKeys(random, monotonic);
  const waitingClients = () => countWaiting(indexers.admission.waitingClients());
  const shownClient = settings.clients.showAddresses ? (client: string) => client : shortened;
  const { logRequests: requests, logRequestsSample: sample } = settings;
  const port = openPublicPort(context, {
    cache,
    gzip,
    redis,
    indexers,
    proof,
    instances,
    exchange: purges,
    isClockShared: () => clock.isShared,
    onTouch: topKeys.count,
    onClient: topClients.count,
    share: telling.share,
    onAnswered:
      requests === 'off'
        ? undefined
        : accessLog({ logger, shown: shownClient, random, now: monotonic, requests, sample }),
  });
  const { server: publicServer } = port;
  publicServer.server.on('drop', () => conditions.set('connections-refused'));

  // Everything that keeps answers or instants is built: from here on it is attached to what ends them.
  const forgetAnswers = () => {
    port.forgetRest();
    memory.clear();
    proof?.forget();
  };
  purges.onPurged((tag) => (tag === EVERY_ENTRY ? forgetAnswers() : port.forgetRest()));
  indexers.onOtherChain(forgetAnswers);
  indexers.memory.makesRoomBy(() => {
    port.forgetRest();
    memory.makeRoom();
  });
  clock.onJump(() => {
    events.report({ name: 'clock-jump' });
    // The instants of entries belong to another time: a 404 could be served for hours too long.
    memory.clear();
    indexers.forget();
    proof?.forget();
    void purges.exchange();
  });
  const told = telling.begin({
    indexers: indexers.all,
    clock,
    hasRedis: redis !== undefined,
    shownClient,
    crowd: () => {
      const waiting = waitingClients();
      return {
        waiting: indexers.admission.waiting,
        waitingClients: waiting.length,
        waitingShare: waiting[0]?.share ?? 0,
        askingShare: topClients.mostShare,
      };
    },
  });
  const admin = openAdminPort(context, {
    indexers,
    tiers,
    explain: port.explain,
    sources: {
      clock,
      proof,
      streams: port.streams,
      counted: telling.counted,
      isRedisUsed: redis && (() => telling.isRedisUsed() && purges.isCurrent),
    },
    episodes: telling.episodes,
    tell: told.tell,
    topKeys,
    topClients,
    waitingClients,
    shownClient,
  });
  const closeAll = async () => {
    told.end();
    endLog();
    proof?.close();
    purges.close();
    clock.close();
    await indexers.close();
    // Closed after the public port, so that the answers to the last requests still reach Redis.
    await redis?.close();
    admin.close();
  };
  return {
    metrics: metrics.all,
    check: async () => {
      // What requests show is told of clients' requests only.
      told.end();
      // The timers of an app do not keep its process alive.
      const lasting = setInterval(() => {}, LASTING_MS);
      const { tryOperation } = port;
      const tried = await tryServices(context, { indexers, redis, purges, clock, tryOperation, tell: told.tellStates });
      await closeAll();
      clearInterval(lasting);
      return tried;
    },
    listen: async () => {
      // Wait for Redis, so that the first requests find its entries, for at most the connect timeout. The second wait
      // ends after at most the timeouts of its Redis commands, and after 1 s for the heads.
      await redis?.connection.ready();
      await Promise.all([purges.exchange(), indexers.ready()]);
      const adminUrl = await listen(admin.server, http.adminHost, http.adminPort);
      const publicUrl = await listen(publicServer.server, http.host, http.port, http.reusePort);
      // Without a listener, an `error` event would end the process.
      for (const server of [admin.server, publicServer.server])
        server.on('error', (cause) => events.report({ name: 'not-accepted', cause }));
      admin.setReady(true);
      return { publicUrl, adminUrl };
    },
    askIndexers: indexers.checkHeads,
    close: async () => {
      admin.setReady(false);
      conditions.set('shutting-down', {}, '', { lasts: true });
      // Load balancers send requests until their next check of /readyz.
      await publicServer.drain(http.drainTimeout, http.shutdownDelay);
      await closeAll();
    },
  };
}
