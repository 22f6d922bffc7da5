import { bodyIn, contentOf, type Entry, ownedBytes } from '../../src/cache/entry.ts';
import { Gzip, type GzipDependencies, keptBody } from '../../src/cache/gzip.ts';
import type { KnownPurges } from '../../src/cache/tiered-cache.ts';
import type { Proof, ProofDoubt } from '../../src/freshness.ts';

/** The options of `anEntry`; by default it is a small, final answer. */
export interface EntryOptions extends Partial<Omit<Entry, 'meta'>> {
  /** The body as the indexer sent it. */
  readonly body?: Buffer;
  readonly meta?: Partial<Entry['meta']>;
}

/** A valid entry, requested at `askedAt`; by default fresh for a minute and usable for two. */
export function anEntry({ body = Buffer.from('{"transactions":[]}'), ...options }: EntryOptions = {}): Entry {
  const askedAt = options.askedAt ?? 1_700_000_000_000;
  return {
    key: 'v1 mainnet adjacentTransactions hash=AAAA',
    etag: '"c29tZSB0YWc"',
    freshUntil: askedAt + 60_000,
    staleWhileRevalidate: 10_000,
    staleIfError: 60_000,
    lifetime: 60_000,
    completeness: { rank: 3, members: Buffer.alloc(0), tentative: Buffer.alloc(0) },
    regressedSince: undefined,
    ageValueSeconds: 0,
    awaitedBlock: undefined,
    proof: undefined,
    equalMs: undefined,
    content: contentOf(ownedBytes(body)),
    ...options,
    askedAt,
    meta: {
      status: 200,
      contentType: 'application/json',
      apiVersion: '1.2.3',
      answerClass: 'final',
      maxAgeSeconds: 60,
      indexer: '',
      ...options.meta,
    },
  };
}

/** A judge with these answers; by default the answer is proven for a minute. */
export function aProof({
  doubt,
  isOutdated = () => false,
  ...sizes
}: Partial<Pick<Proof, 'isOutdated' | 'keptMs' | 'bytes'>> & {
  readonly doubt?: () => ProofDoubt | undefined;
} = {}): Proof {
  return {
    keptMs: 60_000,
    bytes: 0,
    ...sizes,
    isOutdated,
    get doubt() {
      return doubt?.();
    },
  };
}

/** For a cache without purges. */
export const NOTHING_PURGED: KnownPurges = { bans: { applyBans: (entry) => entry }, isCurrent: true };

/** The body of an entry as the indexer sent it. */
export function bodyOf({ content }: Entry): Buffer {
  const body = bodyIn(content, 'identity');
  if (body === undefined) throw new Error('the entry is not kept as the indexer sent it');
  return body;
}

/** Stores entries unchanged. */
export const asTheyAre = async ({ content }: Entry) => keptBody(content);

/** Compresses from 1 KiB up. */
export function someGzip({
  onChange = () => {},
  onPacked = () => {},
  ...options
}: Partial<GzipDependencies> = {}): Gzip {
  return new Gzip({ onChange, onPacked, enabled: true, ...options });
}
