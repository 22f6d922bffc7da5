import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { MemoryTier } from './cache/memory-tier.ts';
import type { RedisTierEvent } from './cache/redis-tier.ts';
import { TieredCache } from './cache/tiered-cache.ts';
import { Clock } from './clock.ts';
import { SingleFlight } from './coalescing/single-flight.ts';
import { policiesOf } from './config/lifetime-policies.ts';
import type { Settings } from './config/schema.ts';
import { createAdminExplain } from './http/admin-explain.ts';
import { createAdminPurge } from './http/admin-purge.ts';
import { createAdminServer } from './http/admin-server.ts';
import { BodyReader } from './http/body-reader.ts';
import { listen } from './http/listen.ts';
import { PassThroughServer } from './http/pass-through-server.ts';
import { PublicServer } from './http/public-server.ts';
import { openIndexer } from './open-indexer.ts';
import { openRedis } from './open-redis.ts';
import { askHeadWith } from './proxy/ask-head.ts';
import { ChainTime } from './proxy/chain-time.ts';
import type { ProxyEvent } from './proxy/events.ts';
import { explainWith } from './proxy/explain.ts';
import { EntryFetcher } from './proxy/fetch-entry.ts';
import { RequestHandler } from './proxy/handle-request.ts';
import { LastLoads } from './proxy/last-loads.ts';
import { EntryLoader, type Load } from './proxy/load-entry.ts';
import { PassThrough } from './proxy/pass-through.ts';
import { refreshStaleWith } from './proxy/refresh-stale.ts';
import { shareChainTime } from './proxy/shared-chain-time.ts';
import { Purges } from './purge/purges.ts';
import { EventLog } from './telemetry/log-events.ts';
import { Metrics } from './telemetry/metrics.ts';
import { CallMemo } from './ton/call-memo.ts';
import { longestUseMs } from './ton/lifetime.ts';
import { tagsOfKey } from './ton/purge-selector.ts';
import { RetryBudget } from './upstream/retry-budget.ts';

/** What an app is made of. */
export interface AppOptions {
  readonly settings: Settings;
  readonly logger: Logger;
  /** The time that instants are dated in, epoch milliseconds, instead of {@link Clock}: neither wall nor Redis counts. */
  readonly now?: () => number;
  /** Milliseconds that only go forward, by which durations are measured. */
  readonly monotonic?: () => number;
  /** The wall clock of this machine, epoch milliseconds. */
  readonly wall?: () => number;
  /** 0 to 1: jitter and `Retry-After`. */
  readonly random?: () => number;
  /** How many lines of the log could not be written so far. */
  readonly logLinesDropped?: () => number;
}

/** Where the two ports came to listen. */
export interface Listening {
  readonly publicUrl: string;
  readonly adminUrl: string;
}

/** The whole proxy as an object: one process has one, tests have many. */
export interface App {
  /** Opens both ports, once it is known whether Redis is there. Rejects when one is in use. */
  listen(): Promise<Listening>;
  /**
   * `/readyz` fails from now on; `http.shutdownDelay` later the public port is drained ({@link PublicServer.drain}), which
   * loses no answer in flight. Afterwards everything is closed.
   */
  close(): Promise<void>;
}

/** The only place where components are built and connected. */
export function createApp(options: AppOptions): App {
  const { settings, logger, wall = Date.now, monotonic = () => performance.now(), random = Math.random } = options;
  const { logLinesDropped = () => 0 } = options;
  const { upstream, http, coalescing, network } = settings;
  const log = new EventLog(logger);
  const onRedisEvent = (event: RedisTierEvent) => {
    metrics.onRedisEvent(event);
    log.onRedisEvent(event);
  };
  const clock = new Clock({
    wall,
    monotonic,
    askServer: async () => redis?.serverTime(),
    // Dated by another clock, a 404 could be served for hours longer than it is true.
    onJump: () => {
      memory.clear();
      purges.onClockJump();
    },
  });
  const now = options.now ?? clock.now;
  const redis = openRedis({
    settings,
    now,
    monotonic,
    report: onRedisEvent,
    onTransition: (transition) => {
      if (transition.state === 'connected') void clock.askServer();
      log.onRedisTransition(transition);
      purges.onRedisTransition(transition);
    },
    onEvictionProblem: log.onEvictionProblem,
  });
  const memory = new MemoryTier({ maxSizeBytes: settings.memory.maxSize, now });
  const purges = new Purges({
    tagsOf: tagsOfKey,
    onEpoch: () => memory.clear(),
    shared: redis && { key: `toncache:purges:${network}`, runScript: redis.connection.runScript },
    usableMs: longestUseMs(policiesOf(settings)),
    now,
    report: (event) => {
      metrics.onPurgeEvent(event);
      log.onPurgeEvent(event);
    },
  });
  const metrics = new Metrics({
    memoryBytes: () => memory.sizeBytes,
    memoryEntries: () => memory.count,
    requestsInFlight: () => publicServer.requestsInFlight,
    inFlight: () => indexer.admission.inFlight + indexer.passThroughAdmission.inFlight,
    waiting: () => indexer.admission.waiting + indexer.passThroughAdmission.waiting,
    limit: () => indexer.admission.limit,
    expectedWaitMs: (operation) => indexer.admission.expectedWaitMs(operation),
    redisWritesPending: () => redis?.tier.pendingWrites ?? 0,
    redisClockOffsetMs: () => (redis === undefined ? 0 : clock.aheadOfWallMs),
    usesRedis: redis !== undefined,
    logLinesDropped,
  });
  let closing = false;
  const report = (event: ProxyEvent) => {
    metrics.onProxyEvent(event);
    // Our own end of the connections is no failure of the indexer.
    if (!closing) log.onProxyEvent(event);
  };
  const onBug = (error: unknown) => report({ name: 'bug', error });

  const indexer = openIndexer({ settings, scripting: redis?.connection, now, monotonic, random, report });
  const { admission, client } = indexer;
  const cache = new TieredCache({ memory, redis: redis?.tier, retryRedisMs: settings.redis.retryAfter, purges, now });
  const chainTime = new ChainTime({
    askHead: askHeadWith({ admission, upstream: client, monotonic, report }),
    shared:
      redis &&
      shareChainTime({
        key: chainTimeKey(network, upstream.url),
        runScript: redis.connection.runScript,
        budgetMs: settings.redis.budget,
      }),
    now,
  });
  const fetcher = new EntryFetcher({
    cache,
    chainTime,
    admission,
    upstream: client,
    bodies: indexer.answerBodies,
    retries: new RetryBudget({ now: monotonic }),
    pauseMs: indexer.pauseMs,
    policies: policiesOf(settings),
    random,
    monotonic,
    report,
  });
  const lastLoads = new LastLoads(now);
  const entryLoader = new EntryLoader({
    cache,
    admission,
    fetcher,
    leases: redis?.leases,
    redisBudgetMs: settings.redis.budget,
    random,
    monotonic,
    report,
  });
  const loader = lastLoads.remembering(entryLoader);
  const flights = new SingleFlight<Load>({
    collapseWindowMs: coalescing.collapseWindow,
    failureTtlMs: (load) => (load.from === 'nowhere' && load.error.wentForward ? coalescing.failureTtl : 0),
    now: monotonic,
  });
  const refreshStale = refreshStaleWith({ flights, loader, timeoutMs: upstream.timeout, onBug });
  const handler = new RequestHandler({
    calls: new CallMemo(network, purges.epoch),
    cache,
    flights,
    loader,
    refreshStale,
    isMemoryFull: indexer.isMemoryFull,
    applyBans: purges.applyBans,
    now,
    random,
    report,
  });

  let ready = false;
  const passThrough = new PassThroughServer({
    passThrough: new PassThrough({
      admission: indexer.passThroughAdmission,
      upstream: client,
      maxTransfers: settings.passThrough.maxTransfers,
      random,
      monotonic,
      report,
    }),
    bodies: new BodyReader({
      maxBodyBytes: settings.passThrough.maxBodySize,
      maxReadingBytes: settings.passThrough.maxReading,
    }),
    ourKey: upstream.apiKey,
    sharesOurKey: settings.passThrough.sharedKey,
  });
  const publicServer = new PublicServer({
    passThrough: settings.passThrough.enabled ? passThrough : undefined,
    handle: (request) => handler.handle(request),
    waitMs: upstream.timeout,
    maxWaiting: http.maxWaiting,
    maxHeaderBytes: http.maxHeaderSize,
    headerTimeoutMs: http.headerTimeout,
    keepAliveMs: http.keepAlive,
    maxConnections: http.maxConnections,
    slowReaderMs: http.slowReader,
    now,
    onBug,
  });
  publicServer.server.on('drop', metrics.onConnectionRefused);
  const { adminToken: token, adminAllowedHosts: allowedHosts, adminHost: listensOn } = http;
  const guard = { token, allowedHosts, listensOn };
  const explained = { network, epoch: purges.epoch, policies: policiesOf(settings), cache, lastLoads, now };
  const adminServer = createAdminServer({
    isReady: () => ready,
    metrics: () => metrics.page(),
    purge: createAdminPurge({ guard, purge: purges.purge }),
    explain: createAdminExplain({ guard, explain: explainWith(explained) }),
    requestTimeoutMs: http.headerTimeout,
    onBug,
  });

  return {
    listen: async () => {
      // The first requests after a start shall find what Redis holds. Both give up after the connect timeout.
      await Promise.all([redis?.ready().then(() => clock.askServer()), purges.ready(settings.redis.connectTimeout)]);
      const adminUrl = await listen(adminServer, http.adminHost, http.adminPort);
      const publicUrl = await listen(publicServer.server, http.host, http.port);
      ready = true;
      return { publicUrl, adminUrl };
    },
    close: async () => {
      ready = false;
      // Load balancers learn from /readyz, and still send requests until they have.
      if (http.shutdownDelay > 0) await sleep(http.shutdownDelay);
      await publicServer.drain(http.drain);
      closing = true;
      purges.close();
      clock.close();
      await indexer.close();
      // What the last requests learned is still worth having.
      await redis?.close();
      adminServer.close();
      adminServer.closeAllConnections();
    },
  };
}

/** One for each indexer: of two on one chain, one may be hours behind. */
function chainTimeKey(network: string, upstreamUrl: string): string {
  return `toncache:chain-time:${hash('sha256', upstreamUrl, 'base64url').slice(0, 16)}:${network}`;
}
