/** The content codings (RFC 9110 8.4.1) that answers are encoded in. */
export const ENCODINGS = ['gzip', 'br', 'zstd'] as const;

export type Encoding = (typeof ENCODINGS)[number];

/** An encoding, or the body as the indexer sent it. */
export type Coding = Encoding | 'identity';

/**
 * What a client accepts: the codings of each weight, the greatest first. `identity` is the last resort where it is missing.
 */
export type Accepted = readonly (readonly Coding[])[];

/** What a client accepts that names no encoding, or likes none better than `identity`. */
export const IDENTITY_ONLY: Accepted = [['identity']];

/**
 * The strong entity tag of an answer in a coding (RFC 9110 8.8.3.3): that of its body, with the name of the encoding. Zlib's
 * output is not the same in all versions; no client can mix two of them, because ranges are not served.
 */
export function etagOf(etag: string, coding: Coding): string {
  return coding === 'identity' ? etag : `${etag.slice(0, -1)}-${coding}"`;
}
