import type { Entry } from '../../src/cache/entry.ts';
import type { Purges } from '../../src/cache/tiered-cache.ts';

/** What `anEntry` may be given; by default it is a small, final answer. */
export interface EntryOptions extends Partial<Omit<Entry, 'head'>> {
  readonly head?: Partial<Entry['head']>;
}

/** A valid entry, requested at `askedAt`; by default fresh for a minute and usable for two. */
export function anEntry(options: EntryOptions = {}): Entry {
  const askedAt = options.askedAt ?? 1_700_000_000_000;
  return {
    key: 'v1 mainnet adjacentTransactions hash=AAAA',
    tags: [],
    body: Buffer.from('{"transactions":[]}'),
    freshUntil: askedAt + 60_000,
    staleWhileRevalidateUntil: askedAt + 70_000,
    staleIfErrorUntil: askedAt + 120_000,
    memoryTtl: 10_000,
    lifetime: 60_000,
    completeness: { rank: 3, members: Buffer.alloc(0), tentative: Buffer.alloc(0) },
    regressedSince: undefined,
    ...options,
    askedAt,
    head: {
      status: 200,
      contentType: 'application/json',
      apiVersion: '1.2.3',
      etag: '"c29tZSB0YWc"',
      answerClass: 'final',
      maxAgeSeconds: 60,
      ...options.head,
    },
  };
}

/** For a cache that no purge has reached. */
export const NOTHING_PURGED: Purges = { applyBans: (entry) => entry, purgedUntil: () => 0, isCurrent: true };
