import { type AskDependencies, askWith } from '../answer/ask.ts';
import { requestHandlerWith } from '../answer/get.ts';
import { failureTtlOf, type Load, type LoaderDependencies, loaderWith } from '../answer/load.ts';
import { refusalErrorWith } from '../answer/refusal-error.ts';
import type { Gzip } from '../cache/gzip.ts';
import type { TieredCache } from '../cache/tiered-cache.ts';
import type { PerClientLimit } from '../clients/per-client-limit.ts';
import { Hedging } from '../fleet/hedging.ts';
import { HEDGES, RETRIES, RetryBudget } from '../fleet/retry-budget.ts';
import { Leases } from '../once/lease.ts';
import { SingleFlight } from '../once/single-flight.ts';
import { CallMemo } from '../ton/call-memo.ts';
import type { BlockProof } from './attached-proof.ts';
import type { AppContext } from './context.ts';
import type { OpenIndexers } from './indexers.ts';
import type { SharedRedis } from './redis.ts';

export interface AnsweringDependencies {
  readonly cache: TieredCache;
  readonly gzip: Gzip;
  /** Absent when the proxy runs on memory alone. */
  readonly redis: SharedRedis | undefined;
  readonly indexers: OpenIndexers;
  /** Absent if no answers are proven. */
  readonly proof: BlockProof | undefined;
  /** The limit of misses of each client; absent without one. */
  readonly missLimit: PerClientLimit | undefined;
  /** Called with the key of each valid request. */
  readonly onTouch: (key: string) => void;
}

/** Builds the path of a request for an operation to its answer: handler, flights, loader, indexers. */
export function openAnswering(context: AppContext, parts: AnsweringDependencies) {
  const { settings, constants, events, now, monotonic, random } = context;
  const { cache, gzip, redis, indexers, proof, missLimit, onTouch } = parts;
  const { upstream, network } = settings;
  const { collapseWindow, failureTtl, failedLease } = constants.coalescing;
  const { admission, heads, pollHeads } = indexers;
  const { report } = events;
  const refusalError = refusalErrorWith(random);
  const hedges = new RetryBudget({ now: monotonic }, HEDGES);
  const ask: AskDependencies = {
    indexers: indexers.all,
    heads,
    hasReached: (seqno) => indexers.chain.hasReached(seqno),
    hedging: heads && new Hedging(hedges, upstream.timeout / 10),
    pollHeads,
    admission,
    refusalError,
    bodies: indexers.answerBodies,
    retries: new RetryBudget({ now: monotonic }, RETRIES),
    random,
    monotonic,
    report,
    proofs: proof?.proofs,
    reportBug: events.reportBug,
    policies: context.lifetimes,
  };
  const load: LoaderDependencies = {
    cache,
    admission,
    ask: askWith(ask),
    leases:
      redis &&
      new Leases({
        redis: redis.connection,
        cache,
        leaseKey: redis.leaseKey,
        now: monotonic,
        // Requests that wait for a killed instance still have half of their time for their own load.
        leaseMs: Math.min(collapseWindow, Math.ceil(upstream.timeout / 2)),
        pollBudgetMs: settings.redis.budget,
        failedMs: failedLease,
      }),
    refusalError,
    monotonic,
    report,
    redisBudgetMs: settings.redis.budget,
    failureTtlMs: failureTtl,
  };
  const flights = new SingleFlight<Load>({
    onFollowed: (flight, client) => admission.join(flight, client),
    keptMs: failureTtlOf,
    now: monotonic,
    collapseWindowMs: collapseWindow,
  });
  const handler = requestHandlerWith({
    calls: new CallMemo(network),
    cache,
    gzip,
    flights,
    load: loaderWith(load),
    refreshTimeoutMs: upstream.timeout,
    missLimit,
    memory: indexers.memory,
    onTouch,
    demand: proof?.demand,
    now,
    monotonic,
    random,
    report,
    reportBug: events.reportBug,
  });
  return { handler, ask, load, flights };
}
