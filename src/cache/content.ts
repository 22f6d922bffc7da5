import type { Coding } from '../content-codings.ts';

/**
 * A body as it is kept: an allocation that holds nothing else, or, once it was sent from memory, the end of one in which
 * the head of a hit stands before it. A Buffer takes 104 bytes beside its allocation (measured), so most bodies have none.
 */
type KeptBody = ArrayBufferLike | Buffer;

/**
 * The content of an answer (RFC 9110 6.4) as it is kept: plain, as gzip, or both, each in memory of its own and never
 * modified. To be read by {@link bodyIn}. Copies of an entry share this object, so that no body is compressed twice.
 */
export interface Content {
  /** The length of the body that the indexer sent. */
  readonly bytes: number;
  identity: KeptBody | undefined;
  gzip: KeptBody | undefined;
  /** Bits that `gzip.ts` sets. */
  flags: number;
}

/** A body in a coding. */
export interface CodedBody {
  readonly coding: Coding;
  readonly body: Buffer;
}

/** What a hit that was sent from memory takes beside its head and body: objects (measured: 323 bytes). */
const SENT_HIT_BYTES = 330;

/** A body that is kept in one coding; `bytes` is its plain length. */
export function contentOf(body: Buffer, coding: Coding = 'identity', bytes = body.length): Content {
  const content: Content = { bytes, identity: undefined, gzip: undefined, flags: 0 };
  setBody(content, coding, body);
  return content;
}

/** The body in a coding; `undefined` if it is not kept in that one. */
export function bodyIn(content: Content, coding: Coding): Buffer | undefined {
  const kept = content[coding];
  return kept === undefined || Buffer.isBuffer(kept) ? kept : Buffer.from(kept);
}

/** Keeps a body in a coding, instead of the one that was kept in it. */
export function setBody(content: Content, coding: Coding, body: Buffer): void {
  content[coding] = body.length === body.buffer.byteLength ? body.buffer : body;
}

/** How many bytes are kept, in both codings, with the heads that stand before bodies in their memory. */
export function keptBytes({ identity, gzip }: Content): number {
  return allocatedBytes(identity) + allocatedBytes(gzip);
}

function allocatedBytes(kept: KeptBody | undefined): number {
  if (kept === undefined) return 0;
  return Buffer.isBuffer(kept) ? kept.buffer.byteLength + SENT_HIT_BYTES : kept.byteLength;
}
