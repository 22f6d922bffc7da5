import { SIZES_KB } from '../sized-calls.ts';

/**
 * The kind of load: hits in memory, misses, nine hits to one miss, hits that are in Redis alone, hits in memory about which
 * Redis is asked each time.
 */
export type Kind = 'hits' | 'misses' | 'mixed' | RedisKind;
export type RedisKind = 'redis' | 'confirmed';

/** One load that all servers are compared by. */
export interface Case {
  readonly kind: Kind;
  readonly sizeKb: number;
  /** The number of URLs that hits are spread over. */
  readonly urls: number;
  /** Whether the client sends `Accept-Encoding: gzip`. */
  readonly gzip: boolean;
}

export const REDIS_KINDS: readonly RedisKind[] = ['redis', 'confirmed'];

/** Which of the kinds that need Redis a kind is, if it is one. */
export function redisKind(kind: Kind): RedisKind | undefined {
  return REDIS_KINDS.find((known) => known === kind);
}

export const KINDS: readonly Kind[] = ['hits', 'misses', 'mixed', ...REDIS_KINDS];

/** Every tenth request of a mixed load is a miss. */
export const MIXED_MISS_EVERY = 10;

/** 500 URLs, or 200 of 200 KB: all answers together fit into the 256 MiB that toncache has by default. */
function manyUrls(sizeKb: number): number {
  return sizeKb > 100 ? 200 : 500;
}

/** All cases of these kinds and sizes, in the order of the table. */
export function casesOf(kinds: readonly Kind[] = KINDS, sizesKb: readonly number[] = SIZES_KB): Case[] {
  return kinds.flatMap((kind) =>
    [false, true].flatMap((gzip) =>
      (kind === 'hits' ? [1, manyUrls] : [manyUrls]).flatMap((urls) =>
        sizesKb.map((sizeKb) => ({ kind, sizeKb, gzip, urls: typeof urls === 'number' ? urls : urls(sizeKb) })),
      ),
    ),
  );
}

/** How often a request of this kind of load is a miss: never (0), every time (1), every n-th time. */
export function missEvery(kind: Kind): number {
  if (kind === 'misses') return 1;
  return kind === 'mixed' ? MIXED_MISS_EVERY : 0;
}

/** What a case is called in the table; cases that differ in size only have one title. */
export function titleOf({ kind, urls, gzip }: Case): string {
  const titles: Record<Kind, string> = {
    hits: urls === 1 ? 'hits, 1 URL' : 'hits, 500 URLs',
    misses: 'misses',
    mixed: '9 hits, 1 miss',
    redis: 'hits in Redis alone',
    confirmed: 'hits confirmed by Redis',
  };
  return titles[kind] + (gzip ? ', gzip' : '');
}
