import type { Logger } from 'pino';
import { AdmissionGate } from './admission/admission-gate.ts';
import { ConcurrencyLimit } from './admission/concurrency-limit.ts';
import { fixedLimit } from './admission/fixed-limit.ts';
import { ProcessGuard } from './admission/process-guard.ts';
import { WaitQueue } from './admission/wait-queue.ts';
import { MemoryTier } from './cache/memory-tier.ts';
import type { RedisTierEvent } from './cache/redis-tier.ts';
import { TieredCache } from './cache/tiered-cache.ts';
import { SingleFlight } from './coalescing/single-flight.ts';
import { policiesOf } from './config/lifetime-policies.ts';
import type { Settings } from './config/schema.ts';
import { createAdminPurge } from './http/admin-purge.ts';
import { createAdminServer } from './http/admin-server.ts';
import { listen } from './http/listen.ts';
import { PassThroughServer } from './http/pass-through-server.ts';
import { PublicServer } from './http/public-server.ts';
import { openRedis } from './open-redis.ts';
import type { ProxyEvent, UpstreamOperation } from './proxy/events.ts';
import { EntryFetcher } from './proxy/fetch-entry.ts';
import { RequestHandler } from './proxy/handle-request.ts';
import { IndexerAccess } from './proxy/indexer-access.ts';
import { EntryLoader, type Load } from './proxy/load-entry.ts';
import { PassThrough } from './proxy/pass-through.ts';
import { refreshStaleWith } from './proxy/refresh-stale.ts';
import { Purges } from './purge/purges.ts';
import type { RedisScripting } from './redis/connect.ts';
import { EventLog } from './telemetry/log-events.ts';
import { Metrics } from './telemetry/metrics.ts';
import { CallMemo } from './ton/call-memo.ts';
import { longestUseMs } from './ton/lifetime.ts';
import { OPERATION_NAMES } from './ton/operations.ts';
import { tagsOfKey } from './ton/purge-selector.ts';
import { OperationBreaker } from './upstream/operation-breaker.ts';
import { RateLimit } from './upstream/rate-limit.ts';
import { RetryBudget } from './upstream/retry-budget.ts';
import { UpstreamClient } from './upstream/upstream-client.ts';
import { UpstreamPause } from './upstream/upstream-pause.ts';

/** What an app is made of. */
export interface AppOptions {
  readonly settings: Settings;
  readonly logger: Logger;
  /** Epoch milliseconds. When given, the clock of Redis is not followed. */
  readonly now?: () => number;
  /** 0 to 1: jitter and `Retry-After`. */
  readonly random?: () => number;
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
  /** Loses no answer in flight: see {@link PublicServer.drain}. Afterwards everything is closed. */
  close(): Promise<void>;
}

/** How often the process looks at itself, in milliseconds. */
const GUARD_EVERY_MS = 500;

/** The only place where components are built and connected. */
export function createApp({ settings, logger, now: ownNow, random = Math.random }: AppOptions): App {
  const { upstream, http, coalescing, admission, network } = settings;
  // Monotonic, and counted from the epoch: instances before one indexer probe its latency at the same moments.
  const monotonic = () => performance.timeOrigin + performance.now();
  const log = new EventLog(logger);
  const onRedisEvent = (event: RedisTierEvent) => {
    metrics.onRedisEvent(event);
    log.onRedisEvent(event);
  };
  const redis = openRedis({
    settings,
    now: ownNow,
    monotonic,
    report: onRedisEvent,
    onTransition: (transition) => {
      log.onRedisTransition(transition);
      purges.onRedisTransition(transition);
    },
    onEvictionProblem: log.onEvictionProblem,
  });
  const now = redis?.now ?? ownNow ?? Date.now;
  const memory = new MemoryTier({ maxSizeBytes: settings.memory.maxSize, now });
  const gate = createGate(settings, monotonic);
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
    permitsInUse: () => gate.inUse,
    queued: () => gate.queued,
    limit: () => gate.limit,
    redisWritesPending: () => redis?.tier.pendingWrites ?? 0,
    redisClockOffsetMs: () => redis?.clockOffsetMs() ?? 0,
    usesRedis: redis !== undefined,
  });
  let closing = false;
  const report = (event: ProxyEvent) => {
    metrics.onProxyEvent(event);
    // Our own end of the connections is no failure of the indexer.
    if (!closing) log.onProxyEvent(event);
  };
  const onBug = (error: unknown) => report({ name: 'bug', error });

  const cache = new TieredCache({ memory, redis: redis?.tier, retryRedisMs: settings.redis.retryAfter, purges, now });
  const client = new UpstreamClient({
    baseUrl: new URL(upstream.url),
    apiKey: upstream.apiKey,
    timeoutMs: upstream.timeout,
    maxConnections: upstream.maxConcurrency,
    maxBodyBytes: upstream.maxBodySize,
    keepAliveMs: upstream.keepAlive,
    connectionLifetimeMs: upstream.connectionLifetime,
    now,
  });
  const guard = new ProcessGuard({
    maxEventLoop: admission.maxEventLoop,
    maxHeap: admission.maxHeap,
    sampleEveryMs: GUARD_EVERY_MS,
  });
  const access = new IndexerAccess({
    guard,
    readingBytes: () => client.readingBytes,
    maxReadingBytes: upstream.maxReading,
    pause: new UpstreamPause({
      defaultMs: upstream.pause,
      longestMs: upstream.longestPause,
      now,
      onTransition: (transition) => report({ name: 'pause', ...transition }),
    }),
    breaker: createBreaker(settings, monotonic, random, report),
    rate: createRateLimit(settings, monotonic, redis?.connection, report),
    retries: new RetryBudget({ now: monotonic }),
    // The other half is for the answer.
    longestWaitMs: upstream.timeout / 2,
  });
  const fetcher = new EntryFetcher({
    cache,
    access,
    upstream: client,
    policies: policiesOf(settings),
    random,
    monotonic,
    report,
  });
  const loader = new EntryLoader({
    cache,
    gate,
    access,
    fetcher,
    leases: redis?.leases,
    redisBudgetMs: settings.redis.budget,
    random,
    monotonic,
    report,
  });
  const flights = new SingleFlight<Load>({
    joinableMs: coalescing.joinable,
    restMs: (load) => (load.from === 'nowhere' && load.error.wentForward ? coalescing.restAfterFailure : 0),
    now: monotonic,
  });
  const refreshStale = refreshStaleWith({ flights, loader, timeoutMs: upstream.timeout, onBug });
  const handler = new RequestHandler({
    calls: new CallMemo(network, purges.epoch),
    cache,
    flights,
    loader,
    refreshStale,
    judge: purges.judge,
    now,
    random,
    report,
  });

  let ready = false;
  const passThrough = new PassThroughServer({
    passThrough: new PassThrough({ gate, access, upstream: client, random, monotonic, report }),
    maxBodyBytes: settings.passThrough.maxBodySize,
    ourKey: upstream.apiKey,
    sharesOurKey: settings.passThrough.sharedKey,
  });
  const publicServer = new PublicServer({
    passThrough: settings.passThrough.enabled ? passThrough : undefined,
    handle: (request) => handler.handle(request),
    waitMs: upstream.timeout,
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
  const adminServer = createAdminServer({
    isReady: () => ready,
    metrics: () => metrics.page(),
    purge: createAdminPurge({ guard: { token, allowedHosts, listensOn }, purge: purges.purge }),
    requestTimeoutMs: http.headerTimeout,
    onBug,
  });

  return {
    listen: async () => {
      // The first requests after a start shall find what Redis holds.
      await redis?.ready();
      await purges.ready(settings.redis.connectTimeout);
      const adminUrl = await listen(adminServer, http.adminHost, http.adminPort);
      const publicUrl = await listen(publicServer.server, http.host, http.port);
      ready = true;
      return { publicUrl, adminUrl };
    },
    close: async () => {
      ready = false;
      await publicServer.drain(http.drain);
      closing = true;
      purges.close();
      guard.close();
      await client.close();
      // What the last requests learned is still worth having.
      await redis?.close();
      adminServer.close();
      adminServer.closeAllConnections();
    },
  };
}

function createGate({ admission, upstream }: Settings, now: () => number): AdmissionGate {
  const max = upstream.maxConcurrency;
  return new AdmissionGate({
    limit: admission.adaptive
      ? new ConcurrencyLimit({ initial: Math.min(admission.initialConcurrency, max), min: 1, max })
      : fixedLimit(max),
    shares: admission.shares,
    caps: { passThrough: admission.maxPassThrough },
    queue: new WaitQueue({
      maxWaiting: admission.maxQueue,
      targetMs: admission.queueTarget,
      intervalMs: admission.queueInterval,
      now,
    }),
    restAfterTimeoutMs: admission.restAfterTimeout,
    now,
  });
}

function createBreaker(
  { breaker, passThrough }: Settings,
  now: () => number,
  random: () => number,
  report: (event: ProxyEvent) => void,
): OperationBreaker<UpstreamOperation> {
  return new OperationBreaker<UpstreamOperation>({
    // What is never asked for would stay cut off for ever once the indexer was gone.
    operations: [...OPERATION_NAMES, ...(passThrough.enabled ? (['passThrough'] as const) : [])],
    failureShare: breaker.failureShare,
    leastKeys: breaker.leastKeys,
    windowMs: breaker.window,
    restMs: breaker.rest,
    longestRestMs: breaker.longestRest,
    now,
    random,
    onTransition: ({ operation, state }) => report({ name: 'breaker', operation, state }),
  });
}

function createRateLimit(
  { upstream, redis, network }: Settings,
  now: () => number,
  scripting: RedisScripting | undefined,
  report: (event: ProxyEvent) => void,
): RateLimit | undefined {
  const perSecond = upstream.requestsPerSecond;
  if (perSecond === undefined) return undefined;
  const shared = scripting && {
    key: `toncache:rate:${network}`,
    runScript: scripting.runScript,
    budgetMs: redis.budget,
    breaker: { faults: redis.failuresToOpen, restMs: redis.retryAfter },
    onShared: (shared: boolean) => report({ name: 'rate-shared', shared }),
  };
  return new RateLimit({ perSecond, shared, now });
}
