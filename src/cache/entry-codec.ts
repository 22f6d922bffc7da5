import { crc32 } from 'node:zlib';
import { usableUntil } from '../freshness.ts';
import {
  type CodedBody,
  type Coding,
  completenessOf,
  contentOf,
  type Entry,
  FINGERPRINT_BYTES,
  type Head,
  HIGHEST_RANK,
  NO_MEMBERS,
  newEntry,
  ownedBytes,
  sharedHead,
} from './entry.ts';

/**
 * The version of everything in Redis that belongs to an entry: its key and this layout. It is part of the keys in Redis
 * and of the first bytes of a value, so that old and new instances miss each other's entries. Raise it whenever a key,
 * the layout, or the meaning of what is stored changes.
 */
export const SCHEMA_VERSION = 10;

/** "TNC" and the version. */
const MAGIC = 0x54_4e_43_00 + SCHEMA_VERSION;

/** The layout, big-endian: magic, CRC-32 of all that follows it, `askedAt`, a JSON head and its length, the body to the end. */
export const AT = { magic: 0, checksum: 4, askedAt: 8, headLength: 16, head: 20 } as const;

/** The first bytes of a stored entry, which {@link isCopyOf} compares: up to its checksum and `askedAt`. */
export const COPY_BYTES = AT.headLength;

/** The largest body, before compression, that is stored or read. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** No entry is usable for longer than this after it was asked for; a larger number is garbage. */
const MAX_SPAN_MS = 366 * 24 * 60 * 60 * 1000;

const MAX_EPOCH_MS = 8.64e15;

/** Characters that Node refuses to send in a header. With one of them, a cached entry would fail each request. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/** A strong entity tag (RFC 9110 8.8.3): the tag of the gzip is derived from it. */
const ETAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

/** The JSON head. */
interface StoredHead
  extends Pick<
      Entry,
      'key' | 'etag' | 'freshUntil' | 'memoryTtl' | 'lifetime' | 'staleWhileRevalidate' | 'staleIfError'
    >,
    Omit<Head, 'apiVersion'> {
  readonly coding: Coding;
  /** The plain length of the body. */
  readonly bytes: number;
  readonly apiVersion: string | null;
  readonly regressedSince: number | null;
  readonly rank: number;
  /** Fingerprints, in base64. */
  readonly members: string;
  readonly tentative: string;
}

const isText = (value: unknown) => typeof value === 'string';
const isSendable = (value: unknown) => typeof value === 'string' && !UNSENDABLE.test(value);
const isWithin = (most: number) => (value: unknown) => typeof value === 'number' && value >= 0 && value <= most;
const isSpan = isWithin(MAX_SPAN_MS);
const isFingerprints = (value: unknown) =>
  typeof value === 'string' && Buffer.byteLength(value, 'base64') % FINGERPRINT_BYTES === 0;

/** What each member of the head has to be. */
const CHECKS = Object.entries({
  key: isText,
  coding: (value) => value === 'identity' || value === 'gzip',
  bytes: isWithin(MAX_BODY_BYTES),
  etag: (value) => typeof value === 'string' && ETAG.test(value),
  status: (value) => value === 200 || value === 404,
  contentType: isSendable,
  apiVersion: (value) => value === null || isSendable(value),
  answerClass: isText,
  maxAgeSeconds: isWithin(2 ** 32),
  indexer: isText,
  freshUntil: isWithin(MAX_EPOCH_MS),
  staleWhileRevalidate: isSpan,
  staleIfError: isSpan,
  memoryTtl: isSpan,
  lifetime: isSpan,
  regressedSince: (value) => value === null || isWithin(MAX_EPOCH_MS)(value),
  rank: (value) => Number.isInteger(value) && isWithin(HIGHEST_RANK)(value),
  members: isFingerprints,
  tentative: isFingerprints,
} satisfies { readonly [Name in keyof StoredHead]: (value: unknown) => boolean });

/** An entry as bytes, with its body in one coding. The body must not be larger than {@link MAX_BODY_BYTES}. */
export function encodeEntry(entry: Entry, { coding, body }: CodedBody): Buffer {
  const { key, etag, freshUntil, staleWhileRevalidate, staleIfError, memoryTtl, lifetime, completeness } = entry;
  const stored: StoredHead = {
    ...{ key, coding, etag, freshUntil, staleWhileRevalidate, staleIfError, memoryTtl, lifetime },
    ...entry.head,
    apiVersion: entry.head.apiVersion ?? null,
    bytes: entry.content.bytes,
    regressedSince: entry.regressedSince ?? null,
    rank: completeness.rank,
    members: completeness.members.toString('base64'),
    tentative: completeness.tentative.toString('base64'),
  };
  const head = Buffer.from(JSON.stringify(stored));
  const bytes = Buffer.concat([Buffer.alloc(AT.head), head, body]);
  bytes.writeUInt32BE(MAGIC, AT.magic);
  bytes.writeDoubleBE(entry.askedAt, AT.askedAt);
  bytes.writeUInt32BE(head.length, AT.headLength);
  bytes.writeUInt32BE(crc32(bytes.subarray(AT.askedAt)), AT.checksum);
  return bytes;
}

/**
 * The entry that was encoded under this key; its body has memory of its own and is still in the coding in which it was
 * stored. `undefined` for anything else: another version, damaged or foreign bytes, another key, numbers that make no
 * sense, text that cannot be sent in a header. Never throws. Damage inside gzip is only found when it is unpacked.
 */
export function decodeEntry(bytes: Buffer, key: string): Entry | undefined {
  if (bytes.byteLength < AT.head || bytes.readUInt32BE(AT.magic) !== MAGIC) return undefined;
  if (checksumOf(bytes) !== crc32(bytes.subarray(AT.askedAt))) return undefined;
  const bodyAt = AT.head + bytes.readUInt32BE(AT.headLength);
  const head = headIn(bytes.subarray(AT.head, bodyAt));
  const body = bytes.subarray(bodyAt);
  if (head?.key !== key || (head.coding === 'identity' ? body.length !== head.bytes : body.length === 0)) {
    return undefined;
  }
  const { status, contentType, answerClass, maxAgeSeconds, indexer, rank } = head;
  const apiVersion = head.apiVersion ?? undefined;
  const entry = newEntry({
    ...head,
    head: sharedHead({ status, contentType, apiVersion, answerClass, maxAgeSeconds, indexer }),
    content: contentOf(ownedBytes(body), head.coding, head.bytes),
    askedAt: bytes.readDoubleBE(AT.askedAt),
    completeness: completenessOf(rank, fingerprintsIn(head.members), fingerprintsIn(head.tentative)),
    regressedSince: head.regressedSince ?? undefined,
  });
  const { askedAt, freshUntil } = entry;
  // Written so that NaN fails it.
  const makesSense = askedAt >= 0 && freshUntil >= askedAt && usableUntil(entry) <= askedAt + MAX_SPAN_MS;
  return makesSense ? entry : undefined;
}

function headIn(json: Buffer): StoredHead | undefined {
  try {
    const head = JSON.parse(json.toString()) as Readonly<Record<string, unknown>>;
    const isHead = CHECKS.every(([name, isValid]) => isValid(head[name]));
    // The cast: each member was checked.
    return isHead ? (head as unknown as StoredHead) : undefined;
  } catch {
    return undefined;
  }
}

function fingerprintsIn(base64: string): Buffer {
  return base64 === '' ? NO_MEMBERS : ownedBytes(Buffer.from(base64, 'base64'));
}

/** The checksum of a stored entry, from its first bytes. */
export function checksumOf(start: Buffer): number {
  return start.readUInt32BE(AT.checksum);
}

/** What a copy in memory keeps of the stored entry that it was made of. */
export interface SharedCopy {
  readonly askedAt: number;
  readonly checksum: number;
}

/** Whether a stored entry that starts with these {@link COPY_BYTES} is the one that the copy was made of. */
export function isCopyOf(start: Buffer, { askedAt, checksum }: SharedCopy): boolean {
  return (
    start.length === COPY_BYTES &&
    start.readUInt32BE(AT.magic) === MAGIC &&
    checksumOf(start) === checksum &&
    start.readDoubleBE(AT.askedAt) === askedAt
  );
}
