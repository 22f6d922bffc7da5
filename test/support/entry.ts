import { type Entry, ownedBytes } from '../../src/cache/entry.ts';
import { FormMaker, type FormMakerDependencies, type FormMakerOptions } from '../../src/cache/form-maker.ts';
import { bodyIn, formsOf, keptEncoding } from '../../src/cache/forms.ts';
import type { Purges } from '../../src/cache/tiered-cache.ts';
import type { Coding } from '../../src/content-codings.ts';

/** What `anEntry` may be given; by default it is a small, final answer. */
export interface EntryOptions extends Partial<Omit<Entry, 'head'>> {
  /** The body, as the indexer sent it. */
  readonly body?: Buffer;
  readonly head?: Partial<Entry['head']>;
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
    memoryTtl: 10_000,
    lifetime: 60_000,
    completeness: { rank: 3, members: Buffer.alloc(0), tentative: Buffer.alloc(0) },
    regressedSince: undefined,
    forms: formsOf(ownedBytes(body)),
    ...options,
    askedAt,
    head: {
      status: 200,
      contentType: 'application/json',
      apiVersion: '1.2.3',
      answerClass: 'final',
      maxAgeSeconds: 60,
      ...options.head,
    },
  };
}

/** For a cache that no purge has reached. */
export const NOTHING_PURGED: Purges = { applyBans: (entry) => entry, purgedUntil: () => 0, isCurrent: true };

/** The body of an entry as the indexer sent it. */
export function bodyOf({ forms }: Entry): Buffer {
  const body = bodyIn(forms, 'identity');
  if (body === undefined) throw new Error('the entry is not kept as the indexer sent it');
  return body;
}

/** The form in which an entry is kept. */
export function keptForm({ forms }: Entry): { readonly coding: Coding; readonly body: Buffer } {
  const coding = forms.identity === undefined ? (keptEncoding(forms) ?? 'identity') : 'identity';
  return { coding, body: bodyIn(forms, coding) ?? Buffer.alloc(0) };
}

/** Stores entries as they are. */
export const asTheyAre = async (entry: Entry) => keptForm(entry);

type FormMakerParts = Partial<FormMakerDependencies & FormMakerOptions>;

/** A maker of all encodings, from 1 KiB up. */
export function aFormMaker({ onChange = () => {}, report = () => {}, ...options }: FormMakerParts = {}): FormMaker {
  return new FormMaker({ onChange, report }, { encodings: ['gzip', 'br', 'zstd'], minBytes: 1024, ...options });
}
