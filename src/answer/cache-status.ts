import type { ErrorCode } from '../errors.ts';

/** The values of `detail` in addition to the codes of failures; docs/reference/lifetimes.md lists them. */
export const DETAILS = {
  memory: 'a hit in memory',
  redis: 'a hit in Redis',
  proven: 'a hit in memory or Redis: blocks prove that the response is current',
  expired: 'not stored: its TTL ended before it could be stored',
  'too-large': 'not stored: it is larger than a sixteenth of `MEMORY_MAX_SIZE`, and Redis did not store it either',
  purged: 'not stored: it was purged while it was being loaded',
  regressed: 'not stored: it is less complete than the cached response, which toncache served instead',
  superseded: 'not stored: toncache served another response, which was requested later',
  preflight: 'toncache answered a CORS preflight',
  health: 'toncache answered `/healthz` or `/readyz`',
} as const;

/** How the cache handled a request: the parameters of `Cache-Status` (RFC 9211 2). */
export interface CacheStatus {
  /** Answered from a tier without going forward. Excludes `fwd`. */
  readonly hit?: true;
  readonly fwd?: 'miss' | 'stale' | 'bypass';
  /** The status of the indexer's answer, if there was one. */
  readonly fwdStatus?: number | undefined;
  readonly stored?: boolean;
  readonly collapsed?: boolean;
  /** Remaining lifetime in whole seconds, negative when stale. */
  readonly ttl?: number;
  readonly detail?: keyof typeof DETAILS | ErrorCode;
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

/** The remaining lifetime in whole seconds, rounded down: an entry that has just become stale has -1. */
export function ttlOf(freshUntil: number, now: number): number {
  const seconds = Math.floor((freshUntil - now) / 1000);
  return now < freshUntil ? seconds : Math.min(-1, seconds);
}
