import { AdmissionGate } from './admission/admission-gate.ts';
import { ConcurrencyLimit } from './admission/concurrency-limit.ts';
import { fixedLimit } from './admission/fixed-limit.ts';
import { ProcessGuard } from './admission/process-guard.ts';
import { WaitQueue } from './admission/wait-queue.ts';
import type { Settings } from './config/schema.ts';
import type { ProxyEvent, UpstreamOperation } from './proxy/events.ts';
import { IndexerAccess } from './proxy/indexer-access.ts';
import type { RedisScripting } from './redis/connect.ts';
import { OPERATION_NAMES } from './ton/operations.ts';
import { OperationBreaker } from './upstream/operation-breaker.ts';
import { RateLimit } from './upstream/rate-limit.ts';
import { RetryBudget } from './upstream/retry-budget.ts';
import { UpstreamClient } from './upstream/upstream-client.ts';
import { UpstreamPause } from './upstream/upstream-pause.ts';

/** How often the process looks at itself, in milliseconds. */
const GUARD_EVERY_MS = 500;

/** The way to the indexer: whoever has a permit of the gate and is let in by the access may use the client. */
export interface OpenIndexer {
  readonly gate: AdmissionGate;
  readonly access: IndexerAccess;
  readonly client: UpstreamClient;
  /** Requests under way fail. */
  close(): Promise<void>;
}

export interface OpenIndexerOptions {
  readonly settings: Settings;
  /** Where the instances that share a rate count; absent without Redis. */
  readonly scripting: RedisScripting | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly random: () => number;
  readonly report: (event: ProxyEvent) => void;
}

/** Builds it; nothing is connected before the first request. */
export function openIndexer(options: OpenIndexerOptions): OpenIndexer {
  const { settings, now, monotonic } = options;
  const { upstream, admission } = settings;
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
    pause: createPause(options),
    breaker: createBreaker(options),
    rate: createRateLimit(options),
    retries: new RetryBudget({ now: monotonic }),
    // The other half is for the answer.
    longestWaitMs: upstream.timeout / 2,
  });
  return {
    gate: createGate(settings, monotonic),
    access,
    client,
    close: async () => {
      guard.close();
      await client.close();
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

function createPause({ settings: { upstream }, now, report }: OpenIndexerOptions): UpstreamPause {
  return new UpstreamPause({
    defaultMs: upstream.pause,
    longestMs: upstream.longestPause,
    now,
    onTransition: (transition) => report({ name: 'pause', ...transition }),
  });
}

function createBreaker({
  settings,
  monotonic,
  random,
  report,
}: OpenIndexerOptions): OperationBreaker<UpstreamOperation> {
  const { breaker, passThrough } = settings;
  return new OperationBreaker<UpstreamOperation>({
    // What is never asked for would stay cut off for ever once the indexer was gone.
    operations: [...OPERATION_NAMES, ...(passThrough.enabled ? (['passThrough'] as const) : [])],
    failureShare: breaker.failureShare,
    leastKeys: breaker.leastKeys,
    windowMs: breaker.window,
    restMs: breaker.rest,
    longestRestMs: breaker.longestRest,
    now: monotonic,
    random,
    onTransition: ({ operation, state }) => report({ name: 'breaker', operation, state }),
  });
}

function createRateLimit({ settings, scripting, monotonic, report }: OpenIndexerOptions): RateLimit | undefined {
  const { upstream, redis, network } = settings;
  const perSecond = upstream.requestsPerSecond;
  if (perSecond === undefined) return undefined;
  const shared = scripting && {
    key: `toncache:rate:${network}`,
    runScript: scripting.runScript,
    budgetMs: redis.budget,
    breaker: { faults: redis.failuresToOpen, restMs: redis.retryAfter },
    onShared: (isShared: boolean) => report({ name: 'rate-shared', shared: isShared }),
  };
  return new RateLimit({ perSecond, shared, now: monotonic });
}
