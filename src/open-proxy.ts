import { hash } from 'node:crypto';
import type { FormMaker } from './cache/form-maker.ts';
import type { TieredCache } from './cache/tiered-cache.ts';
import { SingleFlight } from './coalescing/single-flight.ts';
import type { Settings } from './config/schema.ts';
import type { EventHub } from './event-hub.ts';
import type { OpenIndexer } from './open-indexer.ts';
import type { SharedRedis } from './open-redis.ts';
import { askHeadWith } from './proxy/ask-head.ts';
import { ChainTime } from './proxy/chain-time.ts';
import { EntryFetcher } from './proxy/fetch-entry.ts';
import { RequestHandler } from './proxy/handle-request.ts';
import { EntryLoader, type Load } from './proxy/load-entry.ts';
import { refreshStaleWith } from './proxy/refresh-stale.ts';
import { shareChainTime } from './proxy/shared-chain-time.ts';
import type { Purges } from './purge/purges.ts';
import { CallMemo } from './ton/call-memo.ts';
import { RetryBudget } from './upstream/retry-budget.ts';

export interface OpenProxyOptions {
  readonly settings: Settings;
  readonly events: EventHub;
  readonly cache: TieredCache;
  readonly forms: FormMaker;
  /** Absent when the proxy runs on memory alone. */
  readonly redis: SharedRedis | undefined;
  readonly purges: Purges;
  readonly indexer: OpenIndexer;
  /** Told of the key of each valid request. */
  readonly onKey: (key: string) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly random: () => number;
}

/** Builds the way of a request from its parameters to its answer: cache, flights, loader, fetcher. */
export function openProxy(options: OpenProxyOptions): RequestHandler {
  const { settings, events, cache, forms, redis, purges, indexer, now, monotonic, random } = options;
  const { upstream, coalescing, network } = settings;
  const { admission, client } = indexer;
  const { report } = events.proxy;
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
    policies: settings.lifetimes,
    random,
    monotonic,
    report,
  });
  const loader = new EntryLoader({
    cache,
    admission,
    fetcher,
    leases: redis?.leases,
    redisBudgetMs: settings.redis.budget,
    random,
    monotonic,
    report,
  });
  const flights = new SingleFlight<Load>({
    collapseWindowMs: coalescing.collapseWindow,
    failureTtlMs: (load) => (load.from === 'nowhere' && load.error.wentForward ? coalescing.failureTtl : 0),
    now: monotonic,
  });
  return new RequestHandler({
    calls: new CallMemo(network, purges.epoch),
    cache,
    formOf: (entry, accepted) => forms.of(entry, accepted),
    flights,
    loader,
    refreshStale: refreshStaleWith({ flights, loader, timeoutMs: upstream.timeout, onBug: events.reportBug }),
    isMemoryFull: indexer.isMemoryFull,
    applyBans: purges.applyBans,
    now,
    random,
    report,
    onKey: options.onKey,
  });
}

/** One for each indexer: of two on one chain, one may be hours behind. */
function chainTimeKey(network: string, upstreamUrl: string): string {
  return `toncache:chain-time:${hash('sha256', upstreamUrl, 'base64url').slice(0, 16)}:${network}`;
}
