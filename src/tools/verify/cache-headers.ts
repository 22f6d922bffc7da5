/** The promise in `Cache-Control`: the answer stays the same (`final`), only gains rows (`growing`), or nothing. */
export type AnswerPromise = 'final' | 'growing' | 'none';

/** Clients may keep a growing answer at most this long, and a final one longer. */
const LONGEST_GROWING_SECONDS = 60;

/** True if toncache answered without a request to the indexer, fresh or stale, by its own `Cache-Status`. */
export function isHit(cacheStatus: string): boolean {
  return /^toncache; hit\b/.test(cacheStatus);
}

/** The time in seconds for which a client may still keep the answer: `max-age` less `Age` (RFC 9111 4.2). */
export function keptSeconds(headers: Headers): number {
  const [, maxAge = 0] = /^public, max-age=([0-9]+)$/.exec(headers.get('cache-control') ?? '') ?? [];
  return Math.max(0, Number(maxAge) - Number(headers.get('age') ?? 0));
}

/** Reads the promise of an answer. A growing one may be so young that clients keep it for less than a second. */
export function promiseOf(headers: Headers): AnswerPromise {
  if (headers.get('cache-control')?.startsWith('public') !== true) return 'none';
  return keptSeconds(headers) > LONGEST_GROWING_SECONDS ? 'final' : 'growing';
}
