import type { Guard, Refusal } from '../admission/guard.ts';
import { notServedGuard } from '../admission/not-served.ts';
import { operationBreakers } from '../admission/operation-breakers.ts';
import { Pause } from '../admission/pause.ts';
import { mostReserved, RateLimit } from '../admission/rate-limit.ts';
import { sharedReservations } from '../admission/shared-reservations.ts';
import { Slots } from '../admission/slots.ts';
import { rateKeyOf } from '../cache/redis-keys.ts';
import { poolsOf } from '../config/open-files.ts';
import { Health } from '../fleet/health.ts';
import type { FleetRoute } from '../fleet/routes.ts';
import { pathKey } from '../http/pass-through/passable-target.ts';
import { Head } from '../indexer/head.ts';
import { HeadPolls } from '../indexer/head-polls.ts';
import { UpstreamClient, type UpstreamClientDependencies } from '../indexer/upstream-client.ts';
import { type Outcome, outcomeOfResult } from '../outcomes.ts';
import { redisBreaker } from '../redis/breaker.ts';
import type { RedisScripting } from '../redis/connect.ts';
import { withinBudget } from '../redis/within-budget.ts';
import type { Ms } from '../time-units.ts';
import { cacheKey } from '../ton/cache-key.ts';
import { notServed as remedyOf } from '../ton/not-served.ts';
import { OPERATION_NAMES, type OperationName } from '../ton/operation-names.ts';
import { masterchainInfo } from '../ton/operations/masterchain-info.ts';
import { targetOf } from '../ton/operations.ts';
import { parseCall } from '../ton/parse-call.ts';
import type { AppContext } from './context.ts';
import type { IndexerSettings } from './indexers-in.ts';

/** The time for which an idle connection is kept: shorter than that of any usual server. */
const KEEP_ALIVE_MS = 4000;

/**
 * After this a connection is replaced: a busy one never becomes idle, and would stay with the old host of a name that
 * moved. An address is used for up to 10 s after its look-up, so all connections follow within 70 s.
 */
const CONNECTION_LIFETIME_MS = 60_000;

/** Whatever sets these conditions also reports their end. */
const LASTS = { lasts: true };

/** Failures of a head poll that an indexer may have, too. Other conditions tell them. */
const OF_AN_INDEXER: readonly Outcome[] = ['refused-key', 'rate-limited', 'not-served', 'failed'];

/** The shortest interval between head polls of a single indexer, and of one whose head does not count. */
const HEAD_EVERY_MS: Ms = 10_000;

/** All instances on one Redis together use at most this part of a rate for head polls. */
const HEAD_POLLS_OF_RATE = 1 / 10;

/** The refusal of an indexer that follows another chain, until its next head poll. */
const OTHER_CHAIN: Refusal = { reason: 'other-chain', retryAfterMs: HEAD_EVERY_MS };

/**
 * The shares of the slots by which operations are kept from each other; three quarters of a share are lent while unused.
 * Wallets poll pending traces most, then children, and blocks are few.
 */
export const SHARES: Readonly<Record<string, number>> = {
  ...Object.fromEntries(OPERATION_NAMES.map((operation) => [operation, 0.1])),
  pendingTraces: 0.4,
  adjacentTransactions: 0.3,
  masterchainBlockShards: 0.2,
};

export interface OpenIndexersDependencies {
  /** Runs the scripts by which instances share the rate limit; absent without Redis. */
  readonly scripting: RedisScripting | undefined;
  /** The number of instances on one Redis, including this one. */
  readonly instances: () => number;
}

interface OpenIndexerDependencies extends OpenIndexersDependencies {
  /** Called with the change in the number of answer bytes that are being read. */
  readonly onReading: (change: number) => void;
  readonly isOurChain: (globalId: number) => boolean;
  /** The time for which a client waits for a slot and a reservation. */
  readonly patienceMs: Ms;
}

/**
 * The interval at which one of the instances may poll the head of an indexer, so that all of them together use at most
 * a tenth of its rate; never below `shortestMs`.
 */
export function headEveryMs(shortestMs: Ms, perSecond: number | undefined, instances: number): Ms {
  return Math.max(shortestMs, perSecond === undefined ? 0 : (1000 * instances) / (perSecond * HEAD_POLLS_OF_RATE));
}

/** One indexer, by its host and port. Get a ticket for it from an admission before using its client. */
export type OpenIndexer = ReturnType<typeof openIndexer>;

/** Builds the client of one indexer and its guards; nothing connects before the first request. */
export function openIndexer(
  context: AppContext,
  { scripting, instances, onReading, isOurChain, patienceMs }: OpenIndexerDependencies,
  indexer: IndexerSettings,
) {
  const { settings, constants, operations, events, conditions, errors, now, monotonic, random } = context;
  const { upstream } = settings;
  const { name } = indexer;
  const who = { upstream: name };
  const pause = new Pause({
    now: monotonic,
    onTransition: ({ state }) => conditions.turn(state === 'open', 'paused', who, errors.lastLimit(name), LASTS),
    onKeyPaused: (paused) => {
      const says = errors.lastLimit(name);
      conditions.set('key-paused', who, says);
      events.report({ name: 'key-paused', indexer: name, says, ...paused });
    },
    defaultMs: upstream.defaultPause,
    longestMs: upstream.maxPause,
  });
  const rate = openRateLimit(context, indexer, scripting, patienceMs);
  // Without a slot, and ahead of the backlog.
  const mayTakeNext = async (isPaused: () => boolean, isWanted?: () => boolean): Promise<boolean> =>
    !isPaused() && (rate === undefined || (await rate.takeNext(isWanted))) && !isPaused();
  const mayRepeat =
    indexer.requestsPerSecond === undefined
      ? undefined
      : (isWanted: () => boolean) => mayTakeNext(() => pause.breaker.isOpen, isWanted);
  const client = openClient(context, { onReading, mayRepeat }, indexer);
  const { guards: breakers, answered } = operationBreakers(operations.names, {
    now: monotonic,
    random,
    onTransition: (operation, state) =>
      conditions.turn(state === 'open', 'breaker-open', { ...who, operation }, errors.last(name), LASTS),
    ...constants.breaker,
  });
  events.on('upstream-answered', ({ indexer: answering, status }) => {
    // A gateway in front of a stopped indexer answers 502.
    if (answering === name && status < 500) answered();
  });
  const pauseOfCached = pause.guard(true);
  const guards = new Map<string, readonly Guard[]>([['passthrough', [pause.guard(false)]]]);
  const notServed = new Map<OperationName, Guard>();
  for (const operation of operations.names) {
    const onTransition = (isServed: boolean) =>
      conditions.turn(!isServed, 'not-served', { ...who, operation }, remedyOf(operation).remedy, LASTS);
    const guard = notServedGuard(monotonic, onTransition);
    notServed.set(operation, guard);
    guards.set(operation, [guard, pauseOfCached, breakers.get(operation) as Guard]);
  }
  const headKey = keyOfHead(context);
  const askEveryMs = () => headEveryMs(HEAD_EVERY_MS, indexer.requestsPerSecond, instances());
  const head = new Head({
    now,
    isOurChain,
    askEveryMs,
    onFault: (fault, why) => {
      for (const each of ['lacks-block', 'other-chain'] as const)
        conditions.turn(fault === each, each, who, why, LASTS);
    },
  });
  const polls = new HeadPolls({
    head,
    askEveryMs,
    upstream: client,
    maySend: () => mayTakeNext(() => pause.refusal(headKey) !== undefined),
    onRateLimited: (retryAfterMs) => pauseOfCached.admit(headKey)?.('rate-limited', retryAfterMs),
    onPolled: (unnamedBy) => {
      const isOther = unnamedBy !== undefined && !OF_AN_INDEXER.includes(outcomeOfResult(String(unnamedBy)));
      const why = `masterchainInfo is answered ${unnamedBy === 200 ? 'without a block' : `with ${unnamedBy}`}`;
      conditions.turn(isOther, 'no-head', who, why, LASTS);
    },
    now,
  });
  const onTransition = (state: 'unhealthy' | 'healthy') =>
    conditions.turn(state === 'unhealthy', 'indexer-fails', who, errors.last(name), LASTS);
  const route: FleetRoute = {
    index: indexer.index,
    isBackup: indexer.isBackup,
    slots: new Slots({
      now: monotonic,
      max: indexer.maxConcurrency,
      shares: SHARES,
      patienceMs,
    }),
    rate,
    refusal: () => {
      if (head.fault !== 'other-chain') return undefined;
      // Polled here, because nothing is sent to it: so it is used again when it is corrected.
      polls.askIfDue();
      return OTHER_CHAIN;
    },
    guards,
    health: indexer.isOne ? undefined : new Health(monotonic, onTransition),
    isBehind: () => head.fault !== undefined,
    hasBlock: (seqno) => head.hasBlock(seqno),
    newestBlock: () => head.newestBlock,
  };
  return {
    name,
    client,
    /** What identifies us there. */
    ours: indexer.ours,
    head,
    polls,
    /** Its route for the cached operations. */
    route,
    /** Takes the next reservation of its rate, ahead of the backlog; `false` while it demands a pause. */
    takeNext: () => mayTakeNext(() => pause.breaker.isOpen),
    pause,
    breakers,
    /**
     * By operation: the guard that refuses requests after the indexer has reported that it does not serve the
     * operation.
     */
    notServed,
  };
}

/** The key that a 429 to a head poll pauses: the same as for a client's request. */
function keyOfHead({ operations, settings }: AppContext): string {
  const cached = operations.named(masterchainInfo.name);
  return cached === undefined
    ? pathKey('GET', targetOf(masterchainInfo.name, []))
    : cacheKey(settings.network, parseCall(cached, '', {}));
}

function openClient(
  { now, settings, events, names }: AppContext,
  to: Pick<UpstreamClientDependencies, 'onReading' | 'mayRepeat'>,
  { url, ours, maxConcurrency }: IndexerSettings,
): UpstreamClient {
  const { upstream } = settings;
  return new UpstreamClient({
    now,
    names,
    baseUrl: new URL(url),
    ours,
    timeoutMs: upstream.timeout,
    ...poolsOf(settings, maxConcurrency),
    maxBodyBytes: upstream.maxBodySize,
    keepAliveMs: KEEP_ALIVE_MS,
    connectionLifetimeMs: CONNECTION_LIFETIME_MS,
    ...to,
    report: events.report,
  });
}

function openRateLimit(
  { settings, constants, monotonic, conditions }: AppContext,
  { name, requestsPerSecond }: IndexerSettings,
  scripting: RedisScripting | undefined,
  longestWaitMs: Ms,
): RateLimit | undefined {
  const { redis, network } = settings;
  const { failuresToOpen, openDuration } = constants.redis;
  if (requestsPerSecond === undefined) return undefined;
  const stepMs = 1000 / requestsPerSecond;
  const reserveShared =
    scripting &&
    sharedReservations({
      runScript: (...script) => withinBudget(redis.budget, () => scripting.runScript(...script)),
      call: redisBreaker({
        monotonic,
        breaker: { faults: failuresToOpen, openMs: openDuration },
        // Several calls for reservations are under way: a single stall of Redis must not end the sharing.
        togetherMs: redis.budget,
        onAvailable: (isShared) => conditions.turn(!isShared, 'rate-not-shared', { upstream: name }, '', LASTS),
      }).call,
      key: rateKeyOf(network, name),
      // The longest wait, the reservations made while Redis answers, and the step after the last one.
      furthestMs: longestWaitMs + (mostReserved(stepMs, redis.budget) + 1) * stepMs,
    });
  return new RateLimit({ reserveShared, now: monotonic, perSecond: requestsPerSecond, longestWaitMs });
}
