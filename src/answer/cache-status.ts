import type { Entry } from '../cache/entry.ts';

/** How the cache handled a request: the parameters of `Cache-Status` (RFC 9211 2). */
export interface CacheStatus {
  /** Answered from a tier without going forward. Excludes `fwd`. */
  readonly hit?: true;
  readonly fwd?: 'miss' | 'stale' | 'bypass';
  /** The status that the indexer answered with, if it did. */
  readonly fwdStatus?: number | undefined;
  readonly stored?: boolean;
  readonly collapsed?: boolean;
  /** Remaining lifetime in whole seconds, negative when stale. */
  readonly ttl?: number;
  /** The tier of a hit, or why an answer was not stored. */
  readonly detail?: string;
}

/** Renders `Cache-Status` (RFC 9211; a structured field by RFC 8941: all our details are tokens). */
export function renderCacheStatus(status: CacheStatus): string {
  let text = 'toncache';
  if (status.hit === true) text += '; hit';
  if (status.fwd !== undefined) text += `; fwd=${status.fwd}`;
  if (status.fwdStatus !== undefined) text += `; fwd-status=${status.fwdStatus}`;
  if (status.stored === true) text += '; stored';
  if (status.collapsed === true) text += '; collapsed';
  if (status.ttl !== undefined) text += `; ttl=${status.ttl}`;
  if (status.detail !== undefined) text += `; detail=${status.detail}`;
  return text;
}

/** The `Cache-Status` of a hit that blocks prove: how long it will stay true is not known. */
export const PROVEN_STATUS: CacheStatus = { hit: true, detail: 'proven' };

/** The `Cache-Status` of a hit at `now` (epoch ms). */
export function hitStatus({ freshUntil }: Entry, tier: 'memory' | 'redis', now: number): CacheStatus {
  return { hit: true, ttl: ttlOf(freshUntil, now), detail: tier };
}

/** The remaining lifetime in whole seconds, rounded down: an entry that is stale by a moment has -1. */
export function ttlOf(freshUntil: number, now: number): number {
  const seconds = Math.floor((freshUntil - now) / 1000);
  return now < freshUntil ? seconds : Math.min(-1, seconds);
}
