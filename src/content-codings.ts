import { hash } from 'node:crypto';

/** The content codings (RFC 9110 8.4.1) that answers are sent in: as the indexer sent them, or as gzip. */
export type Coding = 'identity' | 'gzip';

/** The strong entity tag of a body (RFC 9110 8.8.3), with its quotes: the first 128 bits of its SHA-256. */
export function entityTagOf(body: Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
}

/**
 * The strong entity tag of an answer in a coding (RFC 9110 8.8.3.3): the tag of its body, with the name of the
 * coding. Versions of zlib compress differently, so one tag may stand for different bytes; this is harmless, because
 * ranges are not served and no client joins parts of two bodies.
 */
export function etagOf(etag: string, coding: Coding): string {
  return coding === 'identity' ? etag : `${etag.slice(0, -1)}-${coding}"`;
}
