import { crc32 } from 'node:zlib';
import type { Coding } from '../content-codings.ts';
import { usableUntil } from '../instants.ts';
import { type CodedBody, contentOf } from './content.ts';
import {
  completenessOf,
  type Entry,
  FINGERPRINT_BYTES,
  type Head,
  HIGHEST_RANK,
  NO_MEMBERS,
  newEntry,
  ownedBytes,
  sharedHead,
} from './entry.ts';
import type { SharedCopy } from './tier.ts';

/**
 * The version of everything in Redis that belongs to an entry: its key and this layout. It is part of the keys in Redis
 * and of the first bytes of a value, so that old and new instances miss each other's entries. Raise it whenever a key,
 * the layout, or the meaning of what is stored changes.
 */
export const SCHEMA_VERSION = 8;

/** "TNC" and the version. */
const MAGIC = 0x54_4e_43_00 + SCHEMA_VERSION;

/** The largest body, before encoding, that is stored or read. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** No entry is usable for longer than this after it was asked for; a larger number is garbage. */
const MAX_SPAN_MS = 366 * 24 * 60 * 60 * 1000;

const MAX_EPOCH_MS = 8.64e15;

/** Stands for `undefined` in the place of an instant. */
const NEVER = 0;

/** The lowest bit of the flags: the coding of the body. */
const CODINGS: readonly Coding[] = ['identity', 'gzip'];
const CODING_BITS = 1;
const FLAG_API_VERSION = 2;

/** The layout, big-endian: this block, the strings (members, tentative, then text in UTF-8), the body to the end. */
export const AT = {
  magic: 0,
  checksum: 4,
  flags: 8,
  status: 9,
  maxAgeSeconds: 11,
  askedAt: 15,
  freshUntil: 23,
  staleWhileRevalidate: 31,
  staleIfError: 39,
  memoryTtl: 47,
  lifetime: 55,
  regressedSince: 63,
  rank: 71,
  bodyLength: 72,
  stringLengths: 76,
} as const;

/** The first bytes of a stored entry, which {@link isCopyOf} compares: up to its checksum and `askedAt`. */
export const COPY_BYTES = AT.freshUntil;

const STRING_COUNT = 7;

/** Bytes before the first string, the members. */
export const FIXED_BYTES = AT.stringLengths + 4 * STRING_COUNT;

/**
 * An entry as bytes, with its body in one coding: versioned and checksummed (CRC-32 over all that follows the checksum).
 * Throws for an entry that the layout cannot hold, such as a negative status; the body must not be larger than
 * {@link MAX_BODY_BYTES}.
 */
export function encodeEntry(entry: Entry, { coding, body }: CodedBody): Buffer {
  const { head, completeness } = entry;
  const texts = [entry.key, head.contentType, head.apiVersion ?? '', entry.etag, head.answerClass];
  const strings = [completeness.members, completeness.tentative, ...texts.map((text) => Buffer.from(text))];

  const fixed = Buffer.alloc(FIXED_BYTES);
  fixed.writeUInt32BE(MAGIC, AT.magic);
  fixed.writeUInt8(CODINGS.indexOf(coding) | (head.apiVersion === undefined ? 0 : FLAG_API_VERSION), AT.flags);
  fixed.writeUInt16BE(head.status, AT.status);
  fixed.writeUInt32BE(head.maxAgeSeconds, AT.maxAgeSeconds);
  fixed.writeDoubleBE(entry.askedAt, AT.askedAt);
  fixed.writeDoubleBE(entry.freshUntil, AT.freshUntil);
  fixed.writeDoubleBE(entry.staleWhileRevalidate, AT.staleWhileRevalidate);
  fixed.writeDoubleBE(entry.staleIfError, AT.staleIfError);
  fixed.writeDoubleBE(entry.memoryTtl, AT.memoryTtl);
  fixed.writeDoubleBE(entry.lifetime, AT.lifetime);
  fixed.writeDoubleBE(entry.regressedSince ?? NEVER, AT.regressedSince);
  fixed.writeUInt8(completeness.rank, AT.rank);
  fixed.writeUInt32BE(entry.content.bytes, AT.bodyLength);
  for (const [index, text] of strings.entries()) fixed.writeUInt32BE(text.byteLength, AT.stringLengths + 4 * index);

  const bytes = Buffer.concat([fixed, ...strings, body]);
  bytes.writeUInt32BE(crc32(bytes.subarray(AT.flags)), AT.checksum);
  return bytes;
}

/**
 * The entry that was encoded under this key; its body has memory of its own and is still in the coding in which it was
 * stored. `undefined` for anything else: another version, damaged or foreign bytes, another key, numbers that make no
 * sense, text that cannot be sent in a header. Never throws. Damage inside an encoded body is only found when it is
 * decoded.
 */
export function decodeEntry(bytes: Buffer, key: string): Entry | undefined {
  if (bytes.byteLength < FIXED_BYTES || bytes.readUInt32BE(AT.magic) !== MAGIC) return undefined;
  if (bytes.readUInt32BE(AT.checksum) !== crc32(bytes.subarray(AT.flags))) return undefined;

  const strings: Buffer[] = [];
  let end = FIXED_BYTES;
  for (let index = 0; index < STRING_COUNT; index++) {
    const start = end;
    end += bytes.readUInt32BE(AT.stringLengths + 4 * index);
    if (end > bytes.byteLength) return undefined;
    strings.push(bytes.subarray(start, end));
  }
  const [members, tentative, keyBytes, contentType, apiVersion, etag, answerClass] = strings;
  if (members === undefined || tentative === undefined || !keyBytes?.equals(Buffer.from(key))) return undefined;

  const flags = bytes.readUInt8(AT.flags);
  const regressedSince = bytes.readDoubleBE(AT.regressedSince);
  const head = {
    status: bytes.readUInt16BE(AT.status),
    contentType: String(contentType),
    apiVersion: flags & FLAG_API_VERSION ? String(apiVersion) : undefined,
    answerClass: String(answerClass),
    maxAgeSeconds: bytes.readUInt32BE(AT.maxAgeSeconds),
  };
  // Rounded, because V8 allocates memory for a number that was read as a double, even if it is whole.
  const duration = (at: number) => Math.round(bytes.readDoubleBE(at));
  const fields = {
    key,
    head,
    etag: String(etag),
    askedAt: bytes.readDoubleBE(AT.askedAt),
    freshUntil: bytes.readDoubleBE(AT.freshUntil),
    staleWhileRevalidate: duration(AT.staleWhileRevalidate),
    staleIfError: duration(AT.staleIfError),
    memoryTtl: duration(AT.memoryTtl),
    lifetime: duration(AT.lifetime),
    completeness: completenessOf(bytes.readUInt8(AT.rank), ownFingerprints(members), ownFingerprints(tentative)),
    regressedSince: regressedSince === NEVER ? undefined : regressedSince,
  };
  const bodyLength = bytes.readUInt32BE(AT.bodyLength);
  const stored = bytes.subarray(end);
  const coding = CODINGS[flags & CODING_BITS] ?? 'identity';
  const isWhole = coding === 'identity' ? stored.length === bodyLength : stored.length > 0;
  if (flags > (CODING_BITS | FLAG_API_VERSION) || bodyLength > MAX_BODY_BYTES || !isWhole) return undefined;
  if (!makesSense(fields)) return undefined;
  return newEntry({ ...fields, head: sharedHead(head), content: contentOf(ownedBytes(stored), coding, bodyLength) });
}

/** The checksum of a stored entry, from its first bytes. */
export function checksumOf(start: Buffer): number {
  return start.readUInt32BE(AT.checksum);
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

function ownFingerprints(slice: Buffer): Buffer {
  return slice.length === 0 ? NO_MEMBERS : ownedBytes(slice);
}

// The comparisons are written so that NaN fails them.
function makesSense(entry: Omit<Entry, 'content'>): boolean {
  const { askedAt, freshUntil, staleWhileRevalidate, staleIfError, memoryTtl, lifetime } = entry;
  const { completeness, regressedSince = 0 } = entry;
  return (
    isStatus(entry.head) &&
    canBeSent(entry) &&
    askedAt >= 0 &&
    askedAt <= MAX_EPOCH_MS &&
    freshUntil >= askedAt &&
    staleWhileRevalidate >= 0 &&
    staleIfError >= 0 &&
    usableUntil(entry) <= askedAt + MAX_SPAN_MS &&
    memoryTtl >= 0 &&
    memoryTtl <= MAX_SPAN_MS &&
    lifetime >= 0 &&
    lifetime <= MAX_SPAN_MS &&
    regressedSince >= 0 &&
    regressedSince <= MAX_EPOCH_MS &&
    completeness.rank <= HIGHEST_RANK &&
    completeness.members.length % FINGERPRINT_BYTES === 0 &&
    completeness.tentative.length % FINGERPRINT_BYTES === 0
  );
}

function isStatus(head: Head): boolean {
  return head.status === 200 || head.status === 404;
}

/**
 * Characters that Node refuses to send in a header. They are refused here, so that no request fails because of a cached
 * entry.
 */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/** A strong entity tag (RFC 9110 8.8.3): the tags of the encodings are derived from it. */
const ETAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

function canBeSent({ etag, head: { contentType, apiVersion = '' } }: Pick<Entry, 'head' | 'etag'>): boolean {
  return ETAG.test(etag) && ![contentType, apiVersion].some((value) => UNSENDABLE.test(value));
}
