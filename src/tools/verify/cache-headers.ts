/** What `Cache-Control` promises: the answer stays as it is (`final`), only gains rows (`growing`), or nothing. */
export type AnswerPromise = 'final' | 'growing' | 'none';

/** Clients may keep a growing answer no longer than this, and a final one for longer. */
const LONGEST_GROWING_SECONDS = 60;

/** Whether toncache answered without asking the indexer, fresh or stale, by its own `Cache-Status`. */
export function isHit(cacheStatus: string): boolean {
  return /^toncache; hit\b/.test(cacheStatus);
}

/** How long a client may still keep the answer: `max-age` less `Age` (RFC 9111 4.2), in seconds. */
export function keptSeconds(headers: Headers): number {
  const [, maxAge = 0] = /^public, max-age=([0-9]+)$/.exec(headers.get('cache-control') ?? '') ?? [];
  return Math.max(0, Number(maxAge) - Number(headers.get('age') ?? 0));
}

/** Reads the promise of an answer. A growing one may be so young that clients keep it for no whole second. */
export function promiseOf(headers: Headers): AnswerPromise {
  if (headers.get('cache-control')?.startsWith('public') !== true) return 'none';
  return keptSeconds(headers) > LONGEST_GROWING_SECONDS ? 'final' : 'growing';
}
