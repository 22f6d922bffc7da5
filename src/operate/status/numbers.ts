import { getHeapStatistics } from 'node:v8';
import type { Admission } from '../../admission/admission.ts';
import type { Guard } from '../../admission/guard.ts';
import type { Pause } from '../../admission/pause.ts';
import type { ShownFollower } from '../../answer/block-proof.ts';
import { REQUEST_OUTCOMES, type RequestOutcome } from '../../answer/phase.ts';
import type { MemoryTier } from '../../cache/memory-tier.ts';
import type { CircuitBreaker } from '../../circuit-breaker.ts';
import type { Clock } from '../../clock.ts';
import type { Heads } from '../../fleet/heads.ts';
import type { FleetRoute } from '../../fleet/routes.ts';
import type { ClientStreaming } from '../../http/streaming/streaming.ts';
import type { Head } from '../../indexer/head.ts';
import type { HeadPolls } from '../../indexer/head-polls.ts';
import { residentBytes } from '../../shortage.ts';
import { askedOf, type Counted, hitsOf, type Requests, type SentCounts, type Span } from '../../tell/counted.ts';
import { STILL_MS } from '../../tell/states.ts';
import type { Ms } from '../../time-units.ts';
import type { OperationName } from '../../ton/operation-names.ts';
import { flowOf } from './flow.ts';
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
      readonly breakers: ReadonlyMap<string, { readonly breaker: Pick<CircuitBreaker, 'state' | 'isFailing'> }>;
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
  const { cached, once, saving, clients: valid } = span;
  const validCached = askedOf(cached) + cached.limited + once.limited;
  const answered = valid - span.refused - span.failed;
  const ages = all.flatMap(({ head, polls }) => (polls.isUnresponsive ? [] : (head.lastWord?.ageMs ?? [])));
  return {
    /** Requests a second since the previous numbers. */
    rates: sinceMs === undefined ? undefined : ratesOf(counted.within(sinceMs)),
    flow: flowOf(counted, all),
    /** The share of the requests for operations of the last 10 s that the cache answered, 0 to 1. */
    hitRatio: validCached > 0 ? hitsOf(cached) / validCached : undefined,
    /** The share of the requests of the last 10 s that were answered, 0 to 1. */
    answeredRatio: valid > 0 ? answered / valid : undefined,
    /**
     * The share of the answers of the last 10 s without a request of their own to the indexer, 0 to 1; passed-through
     * requests count, streams do not. Refreshes, retries and head polls are requests too.
     */
    savedRatio: saving.answered > 0 ? Math.min(1, Math.max(0, 1 - saving.sent / saving.answered)) : undefined,
    latency: { p50Seconds: latencyOf(counted, cached, 0.5), p99Seconds: latencyOf(counted, cached, 0.99) },
    operations: operations.map((operation) => operationIn(sources, span, operation)),
    upstream: {
      p50Seconds: quantileOf(span.upstreamTimes, counted.bounds, 0.5),
      p99Seconds: quantileOf(span.upstreamTimes, counted.bounds, 0.99),
      inFlight: admission.inFlight,
      limit: all.reduce((sum, { route }) => sum + (route.isBackup ? 0 : route.slots.max), 0),
      queued: admission.waiting,
      expectedWaitSeconds: Math.max(0, ...operations.map((each) => admission.expectedWaitMs(each) / 1000)),
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
      evictedPerSecond: once.evicted / seconds,
    },
    process: {
      rssBytes: residentBytes(),
      heapBytes: getHeapStatistics().used_heap_size,
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

function ratesOf(span: Span): Rates {
  const { all, seconds, refused, failed } = span;
  const rates = REQUEST_OUTCOMES.map((outcome) => [outcome, all[outcome] / seconds]);
  return { ...Object.fromEntries(rates), refused: refused / seconds, failed: failed / seconds };
}

function operationIn({ counted, indexers }: NumberSources, span: Span, operation: string) {
  const its = span.operation(operation);
  const asked = askedOf(its) + its.limited;
  const { failed } = its;
  const where = (isIn: (indexer: ShownIndexer) => boolean) => indexers.all.filter(isIn).map(({ name }) => name);
  const breakerAt = ({ breakers }: ShownIndexer) => breakers.get(operation)?.breaker.state;
  return {
    operation,
    /** Requests a second, over 10 s, and those without an answer. */
    perSecond: asked / span.seconds,
    failedPerSecond: failed / span.seconds,
    hitRatio: asked > 0 ? hitsOf(its) / asked : undefined,
    p99Seconds: latencyOf(counted, its, 0.99),
    /** The indexers at which its circuit breaker is open, those at which it is half-open, and those that do not serve it. */
    breakersOpenAt: where((it) => breakerAt(it) === 'open'),
    breakersHalfOpenAt: where((it) => breakerAt(it) === 'half-open'),
    notServedBy: where(({ notServed }) => notServed.get(operation)?.breaker.isClosed === false),
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

function indexerIn({ indexers: { heads } }: NumberSources, span: Span, indexer: ShownIndexer) {
  const { name, head, polls, route } = indexer;
  const { isBackup, slots, health, index } = route;
  const its = span.upstream(name);
  const { all, allGood, results } = its;
  const { lastWord } = head;
  return {
    upstream: name,
    isBackup,
    state: stateOf(indexer, its, heads?.isBehind(index) === true),
    seqno: Math.max(0, head.highestBlock) || undefined,
    ageSeconds: polls.isUnresponsive || lastWord?.ageMs === undefined ? undefined : lastWord.ageMs / 1000,
    /** How long its newest block has been the same, at the last head poll. */
    sameForSeconds: lastWord && lastWord.sameForMs / 1000,
    /** `undefined` for a single one, and while unknown: backups are not polled. */
    lagBlocks: isBackup || polls.isUnresponsive ? undefined : heads?.lag(index),
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
function stateOf(
  { head: { fault, lastWord }, polls, pause, breakers, route: { health } }: ShownIndexer,
  { all, allGood, results }: SentCounts,
  isBehind: boolean,
): string {
  if (!pause.breaker.isClosed) return 'paused';
  if (all > 0 && results['upstream-unreachable'] === all) return 'unreachable';
  // The health of a single one is not kept: there is no choice.
  if (health === undefined ? all > 0 && allGood === 0 : !health.isHealthy) return 'unhealthy';
  if (fault !== undefined) return fault === 'lacks-block' ? 'lacks blocks' : 'another chain';
  if (polls.isUnresponsive) return 'unresponsive';
  if ((lastWord?.sameForMs ?? 0) > STILL_MS) return 'stands still';
  if (isBehind) return 'behind';
  // Nothing was answered since its circuit breaker opened.
  if ([...breakers.values()].some(({ breaker }) => breaker.state === 'half-open' && breaker.isFailing))
    return 'half-open';
  return health === undefined && all === 0 ? 'idle' : 'healthy';
}
