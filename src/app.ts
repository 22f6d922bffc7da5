import { lookup } from 'node:dns';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { judgeFromRedis } from './answer/redis-judge.ts';
import { Gzip } from './cache/gzip.ts';
import { MemoryTier } from './cache/memory-tier.ts';
import { OlderAnswers } from './cache/older-answers.ts';
import { banKeysOf } from './cache/redis-keys.ts';
import { TieredCache } from './cache/tiered-cache.ts';
import { shortened } from './clients/client-addresses.ts';
import { countWaiting } from './clients/waiting-clients.ts';
import { Clock } from './clock.ts';
import type { BlockProof } from './compose/attached-proof.ts';
import { CONSTANTS, type Constants } from './compose/constants.ts';
import type { AppContext } from './compose/context.ts';
import { openIndexers } from './compose/indexers.ts';
import { openPublicPort, restBytesOf } from './compose/public-port.ts';
import { loadRedisClient, openRedis } from './compose/redis.ts';
import { type OpenTellingDependencies, openTelling } from './compose/telling.ts';
import { type ServicesTried, tryServices } from './compose/trial.ts';
import type { Settings } from './config/schema.ts';
import { adminExplain } from './http/admin/admin-explain.ts';
import { adminPurge } from './http/admin/admin-purge.ts';
import { createAdminServer } from './http/admin/admin-server.ts';
import { listen } from './http/listen.ts';
import { type AskResolver, Names } from './names/names.ts';
import { accessLog } from './operate/access-log.ts';
import { describeExplanation } from './operate/describe-explanation.ts';
import { logEvents } from './operate/log-events.ts';
import { metricsPage } from './operate/metrics.ts';
import { loopLagSeconds } from './operate/process-metrics.ts';
import { StatusHistory } from './operate/status/history.ts';
import { statusPages } from './operate/status/status-pages.ts';
import { TopKeys } from './operate/status/top-keys.ts';
import { openBlockProof } from './proof/block-proof.ts';
import { EVERY_ENTRY } from './purge/bans.ts';
import { Purges } from './purge/purges.ts';
import type { DescribedMetric } from './tell/metrics.ts';
import { longestUseMs } from './ton/lifetime.ts';
import { lifetimesWith } from './ton/lifetime-table.ts';
import { OperationsInUse } from './ton/operations.ts';
import { VERSION } from './version.ts';

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
  const { http, network } = settings;

  // Components are given functions that use others, which are built later. So nothing below waits: no timer and no
  // connection calls such a function before everything is built.
  const connect = await loadRedisClient(settings);
  const operations = new OperationsInUse(settings.operations);
  const telling = openTelling({ settings, operations, logger, logOutput, monotonic });
  const { events, metrics, conditions, errors } = telling;
  const endLog = logEvents(logger, monotonic, events);

  const onClockJump = () => {
    events.report({ name: 'clock-jump' });
    // The instants of entries belong to another time: a 404 could be served for hours too long.
    memory.clear();
    indexers.forget();
    proof?.forget();
    void purges.exchange();
  };
  const clock = new Clock({ wall, monotonic, onJump: onClockJump });
  metrics.gauge('redis_clock_offset_seconds', "Time by which the clock of Redis is ahead of this machine's.", () =>
    redis === undefined ? 0 : clock.aheadOfWallMs / 1000,
  );
  const now = dependencies.now ?? clock.now;
  const names = new Names({ askResolver, now: monotonic });
  const lifetimes = lifetimesWith(settings.lifetimes, constants.rows);
  const context: AppContext = {
    settings,
    constants,
    lifetimes,
    operations,
    events,
    metrics,
    conditions,
    errors,
    names,
    now,
    monotonic,
    random,
  };
  const { memory: bounds, compression } = settings;
  const memory = new MemoryTier({
    now,
    maxSizeBytes: bounds.maxSize - restBytesOf(settings),
    onEvicted: () => events.report({ name: 'evicted' }),
  });
  metrics.gauge('memory_tier_bytes', 'Bytes in the memory tier, overhead included.', () => memory.sizeBytes);
  metrics.gauge('memory_tier_max_bytes', 'The most bytes that the memory tier may hold.', () => bounds.maxSize);
  metrics.gauge('memory_tier_entries', 'Entries in the memory tier.', () => memory.count);
  const gzip = new Gzip({
    onChange: (entry) => memory.resize(entry),
    onPacked: () => events.report({ name: 'compressed' }),
    enabled: compression.enabled,
  });
  const redis = openRedis(context, {
    connect,
    gzip,
    onTransition: (transition) => purges.onRedisTransition(transition),
  });
  const pendingWrites = () => redis?.tier.pendingWrites ?? 0;
  metrics.gauge('redis_pending_writes', 'Writes to Redis that are under way.', pendingWrites);
  const forgetAnswers = () => {
    port.forgetRest();
    memory.clear();
    proof?.forget();
  };
  const purges = new Purges({
    onPurged: (tag) => {
      if (tag === EVERY_ENTRY) forgetAnswers();
      else port.forgetRest();
    },
    runScript: redis?.connection.runScript,
    now,
    monotonic,
    onServerTime: dependencies.now === undefined ? clock.learn : () => {},
    report: events.report,
    instance,
    keys: banKeysOf(network),
    usableMs: longestUseMs(lifetimes),
  });

  const instances = () => purges.instances;
  const indexers = openIndexers(context, {
    scripting: instance === '' ? undefined : redis?.connection,
    instances,
    makeRoom: () => {
      port.forgetRest();
      memory.makeRoom();
    },
    onOtherChain: forgetAnswers,
  });
  // May be left out, as the folder `proof/`: then no answers are proven, and nothing else changes.
  const { proof }: { readonly proof?: BlockProof | undefined } = {
    proof: openBlockProof(context),
  };
  if (proof !== undefined)
    metrics.gauge('proof_entries', 'Answers in the memory tier that blocks may prove.', () => memory.provable);
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
  const waitingClients = () => countWaiting(indexers.admission.backlog.clients());
  const shownClient = settings.clients.showAddresses ? (client: string) => client : shortened;
  const { logRequests: requests, logRequestsSample: sample } = settings;
  const port = openPublicPort(context, {
    cache,
    gzip,
    redis,
    indexers,
    proof,
    instances,
    onTouch: topKeys.count,
    onClient: topClients.count,
    onLimited: (client) => events.report({ name: 'client-limited', client: shownClient(client) }),
    onAnswered:
      requests === 'off'
        ? undefined
        : accessLog({ logger, shown: shownClient, random, now: monotonic, requests, sample }),
  });
  const { server: publicServer, explain } = port;
  publicServer.server.on('drop', () => conditions.set('connections-refused'));
  const {
    tell,
    tellStates,
    end: endTelling,
  } = telling.begin({
    indexers: indexers.all,
    clock,
    hasRedis: redis !== undefined,
    askHeads: indexers.askHeads,
    crowd: () => {
      const waiting = waitingClients();
      const [first, second] = topClients.top(2);
      return {
        waiting: indexers.admission.backlog.size,
        waitingClients: waiting.length,
        waitingShare: waiting[0]?.share ?? 0,
        askingShare: second === undefined ? 0 : (first?.share ?? 0),
      };
    },
  });
  let ready = false;
  const { adminToken: token, adminAllowedHosts: allowedHosts, adminHost: listensOn } = http;
  const access = { token, allowedHosts, listensOn };
  const history: StatusHistory = new StatusHistory({
    sources: {
      operations: operations.names,
      memory,
      maxMemoryBytes: bounds.maxSize,
      indexers,
      clock,
      proof,
      streams: port.streams,
      counted: telling.counted,
      isRedisUsed: redis && (() => telling.isRedisUsed() && purges.isCurrent),
    },
    loopLag: loopLagSeconds,
    now,
    monotonic,
    onBug: events.reportBug,
    conditions,
    tell,
  });
  const about = { version: VERSION, host: hostname(), network, upstreams: indexers.all.map(({ name }) => name) };
  const status = statusPages({
    history,
    about: { ...about, startedAt: now(), breakerMinimumKeys: constants.breaker.minimumThroughput },
    topKeys,
    topClients,
    waitingClients,
    shownClient,
    inMemory: (key) => memory.peek(key),
    now,
    access,
  });
  const adminServer = createAdminServer({
    isReady: () => ready,
    metrics: metricsPage(metrics),
    paths: {
      ...status,
      '/purge': adminPurge(purges.purge, monotonic),
      '/explain': adminExplain({ explain, describe: describeExplanation }),
    },
    access,
    onBug: events.reportBug,
    requestTimeoutMs: http.requestTimeout,
  });
  const closeAll = async () => {
    history.close();
    endTelling();
    endLog();
    proof?.close();
    purges.close();
    clock.close();
    await indexers.close();
    // Closed after the public port, so that the answers to the last requests still reach Redis.
    await redis?.close();
    adminServer.close();
    adminServer.closeAllConnections();
  };
  return {
    metrics: metrics.all,
    check: async () => {
      // What requests show is told of clients' requests only.
      endTelling();
      // The timers of an app do not keep its process alive.
      const lasting = setInterval(() => {}, LASTING_MS);
      const { tryOperation } = port;
      const tried = await tryServices(context, { indexers, redis, purges, clock, tryOperation, tell: tellStates });
      await closeAll();
      clearInterval(lasting);
      return tried;
    },
    listen: async () => {
      // Wait for Redis, so that the first requests find its entries, for at most the connect timeout. The second wait
      // ends after at most the timeouts of its Redis commands, and after 1 s for the heads.
      await redis?.connection.ready();
      await Promise.all([purges.exchange(), indexers.ready()]);
      const adminUrl = await listen(adminServer, http.adminHost, http.adminPort);
      const publicUrl = await listen(publicServer.server, http.host, http.port, http.reusePort);
      // Without a listener, an `error` event would end the process.
      for (const server of [adminServer, publicServer.server])
        server.on('error', (cause) => events.report({ name: 'not-accepted', cause }));
      ready = true;
      return { publicUrl, adminUrl };
    },
    askIndexers: indexers.checkHeads,
    close: async () => {
      ready = false;
      conditions.set('shutting-down', {}, '', { lasts: true });
      // Load balancers send requests until their next check of /readyz.
      await publicServer.drain(http.drainTimeout, http.shutdownDelay);
      await closeAll();
    },
  };
}
