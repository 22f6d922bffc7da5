import type { Entry } from '../cache/entry.ts';
import type { StoreOutcome } from '../cache/tiered-cache.ts';
import type { ProxyError } from '../errors.ts';
import { CLIENT_MISTAKES } from '../outcomes.ts';
import type { EpochMs } from '../time-units.ts';
import { type CacheStatus, ttlOf } from './cache-status.ts';

/** How requests are answered, each in one word. */
export const REQUEST_OUTCOMES = [
  ...(['hit-memory', 'hit-redis', 'hit-proven', 'stale', 'collapsed'] as const),
  ...(['miss', 'invalid', 'failed'] as const),
] as const;

/** One of {@link REQUEST_OUTCOMES}. */
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

/** A tier had the answer, fresh or stale while it is refreshed: the request was not sent. */
export interface TierHit {
  readonly kind: 'hit';
  readonly entry: Entry;
  readonly tier: 'memory' | 'redis';
}

/** A tier had the answer, and blocks prove it, whatever its lifetime: the request was not sent. */
export interface ProvenHit {
  readonly kind: 'proven';
  readonly entry: Entry;
}

/** The indexer answered. */
export interface LoadedAnswer {
  readonly kind: 'loaded';
  /** Its answer, or the kept one if that is more complete or was requested later. */
  readonly entry: Entry;
  /** The status of its answer. */
  readonly status: number;
  readonly stored: StoreOutcome['outcome'];
  /** True if the cache had a stale copy, or serves a copy instead of a regressed answer. */
  readonly replaced: boolean;
}

/** No answer came, or the request was refused, and a copy is served that is usable for this case (stale-if-error). */
export interface StaleInstead {
  readonly kind: 'stale';
  readonly entry: Entry;
  readonly tier: 'memory' | 'redis';
  readonly error: ProxyError;
}

/** The client gets a failure: no answer came, the request was refused, or its client has left. */
export interface Failed {
  readonly kind: 'failed';
  readonly error: ProxyError;
}

/** How the cache handled one request: everything that is told about the request follows from it. */
export type Phase = TierHit | ProvenHit | LoadedAnswer | StaleInstead | Failed;

/** A phase as one of several waiters met it. */
export type Ended<Kind extends Phase = Phase> = Kind & {
  /** True if this request followed the flight of another one. */
  readonly collapsed: boolean;
  /** The instant at which the phase was decided. */
  readonly at: EpochMs;
};

/** The outcome of a request, for metrics. `client-closed-request`: its client left before the answer. */
export function outcomeOf(ended: Ended): RequestOutcome | 'client-closed-request' {
  switch (ended.kind) {
    case 'hit':
      return ended.at < ended.entry.freshUntil ? `hit-${ended.tier}` : 'stale';
    case 'proven':
      return 'hit-proven';
    case 'loaded':
      return ended.collapsed ? 'collapsed' : 'miss';
    case 'stale':
      return 'stale';
    case 'failed':
      return failedOutcome(ended.error);
  }
}

/**
 * The outcome of a request that failed. A mistake in the request is no failure. Neither is an operation that no indexer
 * serves, or a parameter that no indexer accepts.
 */
export function failedOutcome(error: ProxyError): 'invalid' | 'failed' | 'client-closed-request' {
  const { code, details, isMistake } = error;
  if (code === 'client-closed-request') return code;
  const isAnswer = details.isOwnAnswer === true || CLIENT_MISTAKES.includes(details.upstreamStatus ?? 0);
  return isMistake || code === 'not-served' || isAnswer ? 'invalid' : 'failed';
}

/** The `Cache-Status` of a hit that blocks prove: the time for which it stays true is unknown. */
const PROVEN_STATUS: CacheStatus = { hit: true, detail: 'proven' };

/** The parameters of `Cache-Status`. */
export function cacheStatusOf(ended: Ended): CacheStatus {
  const { collapsed } = ended;
  switch (ended.kind) {
    case 'hit':
      return { hit: true, ttl: ttlOf(ended.entry.freshUntil, ended.at), detail: ended.tier };
    case 'proven':
      return PROVEN_STATUS;
    case 'loaded': {
      const { status: fwdStatus, stored, replaced } = ended;
      const fwd = replaced ? 'stale' : 'miss';
      const status: CacheStatus = { fwd, fwdStatus, collapsed };
      if (stored === 'stored') return { ...status, stored: true };
      return stored === 'never-kept' ? status : { ...status, detail: stored };
    }
    case 'stale': {
      const { error, entry, tier, at } = ended;
      const ttl = ttlOf(entry.freshUntil, at);
      return error.wentForward
        ? { fwd: 'stale', fwdStatus: error.details.upstreamStatus, collapsed, ttl, detail: error.code }
        : { hit: true, ttl, detail: tier };
    }
    case 'failed': {
      const { code: detail, details, wentForward } = ended.error;
      return wentForward ? { fwd: 'miss', fwdStatus: details.upstreamStatus, collapsed, detail } : { detail };
    }
  }
}
