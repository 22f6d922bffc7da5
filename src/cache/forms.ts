import { type Coding, ENCODINGS, type Encoding } from '../content-codings.ts';

/**
 * The body of an answer in the codings in which it is kept: at least one, each in memory of its own and never modified.
 * In that memory, the head of a hit can stand before it.
 * Copies of an entry share this object, so that no body is encoded twice.
 */
export interface Forms {
  /** The length of the body that the indexer sent. */
  readonly bytes: number;
  identity: Buffer | undefined;
  gzip: Buffer | undefined;
  br: Buffer | undefined;
  zstd: Buffer | undefined;
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
  forms[coding] = body;
  return forms;
}

/** An encoding in which a body is kept; `undefined` when it is only kept as `identity`. */
export function keptEncoding(forms: Forms): Encoding | undefined {
  return ENCODINGS.find((encoding) => forms[encoding] !== undefined);
}

/** How many bytes are kept, in all codings, with the heads that stand before bodies in their memory. */
export function keptBytes({ identity, gzip, br, zstd }: Forms): number {
  return allocatedBytes(identity) + allocatedBytes(gzip) + allocatedBytes(br) + allocatedBytes(zstd);
}

function allocatedBytes(body: Buffer | undefined): number {
  if (body === undefined) return 0;
  const { byteLength } = body.buffer;
  return byteLength === body.length ? byteLength : byteLength + SENT_HIT_BYTES;
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
  forms[coding] = body;
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
