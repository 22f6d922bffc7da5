/** What the headers of an answer say about the cache. */
export interface CacheHeaders {
  /** Answered without asking the indexer, fresh or stale. */
  readonly hit: boolean;
  /** `Cache-Status` as it came; empty when missing. */
  readonly status: string;
  /** How long a client may still keep the answer: `max-age` less `Age` (RFC 9111 4.2), in seconds. */
  readonly keptSeconds: number;
}

/**
 * What the time that clients may keep an answer promises: it stays as it is (`final`), only gains rows (`growing`), or
 * nothing.
 */
export type AnswerPromise = 'final' | 'growing' | 'none';

/** Clients may keep a growing answer no longer than this, and a final one for longer. */
const LONGEST_GROWING_SECONDS = 60;

/** Reads the headers of an answer. */
export function cacheHeaders(headers: Headers): CacheHeaders {
  const status = headers.get('cache-status') ?? '';
  const maxAgeSeconds = Number(/^public, max-age=([0-9]+)$/.exec(headers.get('cache-control') ?? '')?.[1] ?? 0);
  return {
    hit: /^toncache; hit\b/.test(status),
    status,
    keptSeconds: Math.max(0, maxAgeSeconds - Number(headers.get('age') ?? 0)),
  };
}

/** Reads the promise of an answer. A growing one may be so young that clients keep it for no whole second. */
export function promiseOf(headers: Headers): AnswerPromise {
  const { keptSeconds } = cacheHeaders(headers);
  if (headers.get('cache-control')?.startsWith('public') !== true) return 'none';
  return keptSeconds > LONGEST_GROWING_SECONDS ? 'final' : 'growing';
}
