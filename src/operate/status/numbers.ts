import type { Admission } from '../../admission/admission.ts';
import type { Guard } from '../../admission/guard.ts';
import type { Pause } from '../../admission/pause.ts';
import type { ShownFollower } from '../../answer/block-proof.ts';
import { REQUEST_OUTCOMES, type RequestOutcome } from '../../answer/phase.ts';
import type { MemoryTier } from '../../cache/memory-tier.ts';
import type { Clock } from '../../clock.ts';
import type { Heads } from '../../fleet/heads.ts';
import type { FleetRoute } from '../../fleet/routes.ts';
import type { ClientStreaming } from '../../http/streaming/streaming.ts';
import type { Head } from '../../indexer/head.ts';
import type { HeadPolls } from '../../indexer/head-polls.ts';
import { askedOf, type Counted, failedOf, hitsOf, type Requests, type Span } from '../../tell/counted.ts';
import type { Ms } from '../../time-units.ts';
import type { OperationName } from '../../ton/operation-names.ts';
import { quantileOf } from './quantile.ts';

/** Ratios and latencies cover this time; why a circuit breaker is closed shows in half of it. */
const [WINDOW_MS, LATELY_MS]: [Ms, Ms] = [10_000, 5000];

/** With enough keys, a circuit breaker opens when this part of them fails. */
const OPENING_PART = 0.5;

/** Requests a second by outcome; refused requests are separate from failed ones. */
type Rates = Readonly<Record<RequestOutcome | 'refused', number>>;

/** The numbers of the status page. Rates, ratios and quantiles are undefined without requests. */
export type StatusNumbers = ReturnType<typeof readNumbers>;

/** The components whose values the page shows. */
export interface NumberSources {
  readonly operations: readonly OperationName[];
  readonly memory: MemoryTier;
  /** The maximum size of the memory tier, in the same measure as its `sizeBytes`. */
  readonly maxMemoryBytes: number;
  readonly indexers: {
    readonly admission: Admission;
    readonly all: readonly {
      readonly name: string;
      readonly head: Head;
      readonly polls: Pick<HeadPolls, 'isUnresponsive'>;
      readonly route: FleetRoute;
      readonly pause: Pick<Pause, 'breaker'>;
      /** By operation. */
      readonly breakers: ReadonlyMap<string, Guard>;
      readonly notServed: ReadonlyMap<string, Guard>;
    }[];
    /** Absent without two replicas. */
    readonly heads: Heads | undefined;
  };
  readonly clock: Clock;
  /** Absent if no answers are proven. */
  readonly proof: ShownFollower | undefined;
  /** The streams of clients; absent without pass-through. */
  readonly streams: ClientStreaming['streams'] | undefined;
  readonly counted: Pick<Counted, 'within' | 'bounds'>;
  /** True while Redis is used; `undefined` without Redis. */
  readonly isRedisUsed: (() => boolean) | undefined;
}

type ShownIndexer = NumberSources['indexers']['all'][number];

/**
 * Reads the numbers. `sinceMs`: the time since they were read before, for rates; `undefined` at first. `loopLagSeconds`: the
 * p99 of the event loop's delay.
 */
export function readNumbers(sources: NumberSources, sinceMs: Ms | undefined, loopLagSeconds: number) {
  const { counted, indexers, memory, maxMemoryBytes, operations, clock, proof, streams, isRedisUsed } = sources;
  const { all, admission } = indexers;
  const span = counted.within(WINDOW_MS);
  const { seconds } = span;
  const requests = span.all;
  const limited = span.once.limited;
  const refused = requests.refused + requests.limited + limited;
  const valid = askedOf(requests) + requests.limited + limited;
  const answered = valid - refused - (requests.failed - requests.refused - requests.limited);
  const sent = [...span.upstreams.values()].reduce((sum, its) => sum + its.sent, 0);
  const ages = all.flatMap(({ head }) => head.lastWord?.ageMs ?? []);
  return {
    /** Requests a second since the previous numbers. */
    rates: sinceMs === undefined ? undefined : ratesOf(counted.within(sinceMs)),
    /** The share of the requests of the last 10 s that the cache answered, 0 to 1. */
    hitRatio: valid > 0 ? hitsOf(requests) / valid : undefined,
    /** The share of the requests of the last 10 s that were answered, 0 to 1. */
    answeredRatio: valid > 0 ? answered / valid : undefined,
    /**
     * The share of the answers of the last 10 s without a request of their own to the indexer, 0 to 1. Refreshes, retries
     * and head polls are requests too.
     */
    savedRatio: answered > 0 ? Math.min(1, Math.max(0, 1 - sent / answered)) : undefined,
    latency: { p50Seconds: latencyOf(counted, requests, 0.5), p99Seconds: latencyOf(counted, requests, 0.99) },
    operations: operations.map((operation) => operationIn(sources, span, operation)),
    upstream: {
      p50Seconds: quantileOf(span.upstreamTimes, counted.bounds, 0.5),
      p99Seconds: quantileOf(span.upstreamTimes, counted.bounds, 0.99),
      inFlight: admission.inFlight,
      limit: all.reduce((sum, { route }) => sum + (route.isBackup ? 0 : route.slots.max), 0),
      queued: admission.backlog.size,
      expectedWaitSeconds: Math.max(0, ...operations.map((each) => admission.backlog.expectedWaitMs(each) / 1000)),
      paused: all.some(({ pause }) => !pause.breaker.isClosed),
      /** Requests a second to backups. */
      backupPerSecond: all.reduce(
        (sum, { name, route }) => sum + (route.isBackup ? span.upstream(name).all / seconds : 0),
        0,
      ),
    },
    memory: {
      bytes: memory.sizeBytes,
      maxBytes: maxMemoryBytes,
      entries: memory.count,
      /** Evicted fresh entries a second. */
      evictedPerSecond: span.once.evicted / seconds,
    },
    process: {
      rssBytes: process.memoryUsage.rss(),
      heapBytes: process.memoryUsage().heapUsed,
      loopLagSeconds,
    },
    /** The proof of answers about accounts; `undefined` without one. */
    proof: proof && {
      state: proof.state,
      block: Math.max(0, proof.blocks.newestRead),
      /** The number of kept answers that blocks may prove. */
      entries: memory.provable,
    },
    redis:
      isRedisUsed === undefined ? ('not configured' as const) : isRedisUsed() ? ('used' as const) : ('failed' as const),
    /** Open streams of clients; `undefined` without pass-through. */
    clientStreams: streams && streams.count('websocket') + streams.count('sse'),
    /** The newest known masterchain block of all indexers. */
    newestSeqno: Math.max(0, ...all.map(({ head }) => head.highestBlock)) || undefined,
    /** Its age at the last head poll, negative if it is ahead of our clock; `undefined` without head polls. */
    newestAgeSeconds: ages.length === 0 ? undefined : Math.min(...ages) / 1000,
    /** Time by which the clock of Redis is ahead of this machine's. */
    redisAheadSeconds: isRedisUsed === undefined ? 0 : clock.aheadOfWallMs / 1000,
    upstreams: all.map((indexer) => indexerIn(sources, span, indexer)),
  };
}

/** A quantile of the latency of clients. Hits in memory are not timed: they count as 0. */
function latencyOf({ bounds }: Pick<Counted, 'bounds'>, its: Requests, part: number): number | undefined {
  return quantileOf(its.times, bounds, part, its['hit-memory'] + its['hit-proven']);
}

function ratesOf({ all, once, seconds }: Span): Rates {
  const rates = REQUEST_OUTCOMES.map((outcome) => [outcome, all[outcome] / seconds]);
  return {
    ...Object.fromEntries(rates),
    refused: (all.refused + all.limited + once.limited) / seconds,
    failed: (all.failed - all.refused - all.limited) / seconds,
  };
}

function operationIn({ counted, indexers }: NumberSources, span: Span, operation: string) {
  const its = span.operation(operation);
  const asked = askedOf(its) + its.limited;
  const failed = failedOf(its) + its.limited;
  const open = (guards: (indexer: ShownIndexer) => ShownIndexer['breakers']) =>
    indexers.all.filter((it) => guards(it).get(operation)?.breaker.isClosed === false).map(({ name }) => name);
  return {
    operation,
    /** Requests a second, over 10 s, and those without an answer. */
    perSecond: asked / span.seconds,
    failedPerSecond: failed / span.seconds,
    hitRatio: asked > 0 ? hitsOf(its) / asked : undefined,
    p99Seconds: latencyOf(counted, its, 0.99),
    /** The indexers at which its circuit breaker is open, and those that do not serve it. */
    breakersOpenAt: open(({ breakers }) => breakers),
    notServedBy: open(({ notServed }) => notServed),
    /** Why its circuit breaker is closed although requests fail. */
    closedDespite: failed > 0 ? closedDespite(its, counted.within(LATELY_MS).operation(operation)) : undefined,
  };
}

/**
 * Why the circuit breaker of a failing operation is closed, if it is: too few keys, too few failed keys, or failures of
 * a kind that it does not count. `undefined` if the failures seem to be over: then it may have been open.
 */
function closedDespite({ breaking, sent }: Requests, lately: Requests) {
  if (breaking === 0) return 'not-counted';
  if (breaking < OPENING_PART * sent) return 'few-failures';
  return lately.breaking > 0 ? 'few-keys' : undefined;
}

function indexerIn(
  { indexers: { heads } }: NumberSources,
  span: Span,
  { name, head, polls, route, pause }: ShownIndexer,
) {
  const { isBackup, slots, health, index } = route;
  const { all, allGood, results } = span.upstream(name);
  const { lastWord, fault } = head;
  const { isUnresponsive } = polls;
  const isBehind = heads?.isBehind(index) === true;
  return {
    upstream: name,
    isBackup,
    state: stateOf({
      isPaused: !pause.breaker.isClosed,
      // The health of a single one is not kept: there is no choice.
      isUnhealthy: health === undefined ? all > 0 && allGood === 0 : !health.isHealthy,
      isIdle: health === undefined && all === 0,
      fault,
      isUnresponsive,
      isBehind,
    }),
    seqno: Math.max(0, head.highestBlock) || undefined,
    ageSeconds: lastWord?.ageMs === undefined ? undefined : lastWord.ageMs / 1000,
    /** `undefined` for a single one, and while unknown: backups are not polled. */
    lagBlocks: isBackup || isUnresponsive ? undefined : heads?.lag(index),
    slotsInUse: slots.inUse,
    slotLimit: slots.max,
    /** The longest request time of the last seconds; `undefined` for a single one. */
    peakSeconds: health && health.peakMs / 1000,
    /** Requests a second, over 10 s, and the failed ones among them. */
    perSecond: all / span.seconds,
    failedPerSecond: (all - allGood) / span.seconds,
    /** Its answers a second by status, and its failures by code. */
    statuses: Object.fromEntries(Object.entries(results).map(([result, count]) => [result, count / span.seconds])),
  };
}

/** The state of an indexer in a word, by the worst of its problems. */
function stateOf(is: {
  readonly isPaused: boolean;
  readonly isUnhealthy: boolean;
  readonly fault: ShownIndexer['head']['fault'];
  readonly isUnresponsive: boolean;
  readonly isBehind: boolean;
  readonly isIdle: boolean;
}): string {
  if (is.isPaused) return 'paused';
  if (is.isUnhealthy) return 'unhealthy';
  if (is.fault !== undefined) return is.fault === 'lacks-block' ? 'lacks blocks' : 'another chain';
  if (is.isUnresponsive) return 'unresponsive';
  if (is.isBehind) return 'behind';
  return is.isIdle ? 'idle' : 'healthy';
}
