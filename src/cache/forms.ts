import { type Coding, ENCODINGS, type Encoding } from '../content-codings.ts';

/**
 * A body as it is kept: an allocation that holds nothing else, or, once it was sent from memory, the end of one in which
 * the head of a hit stands before it. A Buffer takes 104 bytes beside its allocation (measured), so most bodies have none.
 */
type KeptBody = ArrayBufferLike | Buffer;

/**
 * The body of an answer in the codings in which it is kept: at least one, each in memory of its own and never modified.
 * To be read by {@link bodyIn}. Copies of an entry share this object, so that no body is encoded twice.
 */
export interface Forms {
  /** The length of the body that the indexer sent. */
  readonly bytes: number;
  identity: KeptBody | undefined;
  gzip: KeptBody | undefined;
  br: KeptBody | undefined;
  zstd: KeptBody | undefined;
  /** The codings that were asked for here, as bits: {@link isAsked}. */
  asked: number;
}

/** One coding of an answer, as it is sent. */
export interface Form {
  readonly coding: Coding;
  readonly body: Buffer;
  /** Whether the coding depends on `Accept-Encoding`, which `Vary` has to say then. */
  readonly varies: boolean;
}

const BITS: Record<Coding, number> = { identity: 1, gzip: 2, br: 4, zstd: 8 };
const NO_GAIN = 16;

/** What a hit that was sent from memory takes beside its head and body: objects (measured: 323 bytes). */
const SENT_HIT_BYTES = 330;

/** A body that is kept in one coding; `bytes` is its length without encoding. */
export function formsOf(body: Buffer, coding: Coding = 'identity', bytes = body.length): Forms {
  const forms: Forms = { bytes, identity: undefined, gzip: undefined, br: undefined, zstd: undefined, asked: 0 };
  setBody(forms, coding, body);
  return forms;
}

/** The body in a coding; `undefined` if it is not kept in that one. */
export function bodyIn(forms: Forms, coding: Coding): Buffer | undefined {
  const kept = forms[coding];
  return kept === undefined || Buffer.isBuffer(kept) ? kept : Buffer.from(kept);
}

/** Keeps a body in a coding, instead of the one that was kept in it. */
export function setBody(forms: Forms, coding: Coding, body: Buffer): void {
  forms[coding] = body.length === body.buffer.byteLength ? body.buffer : body;
}

/** An encoding in which a body is kept; `undefined` when it is only kept as `identity`. */
export function keptEncoding(forms: Forms): Encoding | undefined {
  return ENCODINGS.find((encoding) => forms[encoding] !== undefined);
}

/** How many bytes are kept, in all codings, with the heads that stand before bodies in their memory. */
export function keptBytes({ identity, gzip, br, zstd }: Forms): number {
  return allocatedBytes(identity) + allocatedBytes(gzip) + allocatedBytes(br) + allocatedBytes(zstd);
}

function allocatedBytes(kept: KeptBody | undefined): number {
  if (kept === undefined) return 0;
  return Buffer.isBuffer(kept) ? kept.buffer.byteLength + SENT_HIT_BYTES : kept.byteLength;
}

/** Notes that a coding was asked for; returns whether it had been before. */
export function ask(forms: Forms, coding: Coding): boolean {
  const wasAsked = isAsked(forms, coding);
  forms.asked |= BITS[coding];
  return wasAsked;
}

export function isAsked(forms: Forms, coding: Coding): boolean {
  return (forms.asked & BITS[coding]) !== 0;
}

/** Keeps a body in one more coding, and drops the other codings that were not asked for. */
export function keep(forms: Forms, coding: Coding, body: Buffer): void {
  setBody(forms, coding, body);
  for (const other of ['identity', ...ENCODINGS] as const) {
    if (other !== coding && !isAsked(forms, other)) forms[other] = undefined;
  }
}

/** Notes that an encoding does not make this body smaller. */
export function giveUpEncoding(forms: Forms): void {
  forms.asked |= NO_GAIN;
}

export function canBeEncoded({ asked }: Forms): boolean {
  return (asked & NO_GAIN) === 0;
}
