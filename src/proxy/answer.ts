import type { Entry } from '../cache/entry.ts';
import type { ProxyError } from '../errors.ts';

/** How the cache handled a request: the parameters of `Cache-Status` (RFC 9211 2). */
export interface CacheStatus {
  /** Answered from a tier without going forward. Excludes `fwd`. */
  readonly hit?: true;
  readonly fwd?: 'miss' | 'stale' | 'bypass';
  /** What the indexer answered, when it did. */
  readonly fwdStatus?: number | undefined;
  readonly stored?: boolean;
  readonly collapsed?: boolean;
  /** Remaining lifetime in whole seconds, negative when stale. */
  readonly ttl?: number;
  /** The tier of a hit, or why an answer was not stored. */
  readonly detail?: string;
}

/** What a request comes to: an entry to send, or a failure to report. */
export type Answer =
  | { readonly kind: 'entry'; readonly entry: Entry; readonly cacheStatus: CacheStatus }
  | { readonly kind: 'failure'; readonly error: ProxyError; readonly cacheStatus: CacheStatus };

/** How a hit is told of at `now` (epoch ms). `ttl` is rounded down: what is stale by a moment says so. */
export function hitStatus({ freshUntil }: Entry, tier: 'memory' | 'redis', now: number): CacheStatus {
  return { hit: true, ttl: ttlOf(freshUntil, now), detail: tier };
}

/** The remaining lifetime in whole seconds. */
export function ttlOf(freshUntil: number, now: number): number {
  const seconds = Math.floor((freshUntil - now) / 1000);
  return now < freshUntil ? seconds : Math.min(-1, seconds);
}
