import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { keptUntil } from '../freshness.ts';
import {
  type CodedBody,
  completenessOf,
  contentOf,
  type Entry,
  FINGERPRINT_BYTES,
  HIGHEST_ORDER,
  HIGHEST_RANK,
  NO_MEMBERS,
  newEntry,
  ownedBytes,
  STATE_BYTES,
  sharedMeta,
} from './entry.ts';
import { SCHEMA_VERSION } from './redis-keys.ts';

/** "TNC" and the version. */
const MAGIC = 0x54_4e_43_00 + SCHEMA_VERSION;

/**
 * The layout, big-endian: magic, CRC-32 of everything after it, the length of the metadata, the metadata as JSON, the
 * body to the end.
 */
export const AT = { magic: 0, checksum: 4, metaLength: 8, meta: 12 } as const;

/** The largest body, before compression, that is stored or read. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** No entry is usable for longer than this after its request; a larger number is garbage. */
const MAX_SPAN_MS = 366 * 24 * 60 * 60 * 1000;

const MAX_EPOCH_MS = 8.64e15;

/** The characters that Node sends in a header. With any other one, a cached entry would fail each request. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** A strong entity tag (RFC 9110 8.8.3): the tag of the gzip is derived from it. */
const ETAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

const spanMs = z.number().min(0).max(MAX_SPAN_MS);
const epochMs = z.number().min(0).max(MAX_EPOCH_MS);
const sendable = z.string().regex(SENDABLE);
/** Fingerprints, in base64. */
const fingerprints = z
  .string()
  .transform((base64) => (base64 === '' ? NO_MEMBERS : ownedBytes(Buffer.from(base64, 'base64'))))
  .refine(({ length }) => length % FINGERPRINT_BYTES === 0);

/** The states of accounts, in base64. */
const states = z
  .string()
  .transform((base64) => ownedBytes(Buffer.from(base64, 'base64')))
  .refine(({ length }) => length % STATE_BYTES === 0);

/** A decimal number in a string: `JSON.parse` is exact only up to 53 bits. */
const order = z
  .string()
  .regex(/^[0-9]{1,44}$/)
  .transform(BigInt)
  .refine((number) => number <= HIGHEST_ORDER);

const STORED_META = z.object({
  key: z.string(),
  coding: z.enum(['identity', 'gzip']),
  /** The plain length of the body. */
  bytes: z.number().min(0).max(MAX_BODY_BYTES),
  etag: z.string().regex(ETAG),
  head: z.object({
    status: z.number().refine((status) => [200, 404].includes(status)),
    contentType: sendable,
    apiVersion: sendable.optional(),
    answerClass: z.string(),
    maxAgeSeconds: z
      .number()
      .min(0)
      .max(2 ** 32),
    indexer: z.string(),
    isAged: z.literal(true).optional(),
    retention: z.object({ afterUse: spanMs, sinceGiven: spanMs }).optional(),
  }),
  askedAt: epochMs,
  freshUntil: epochMs,
  staleWhileRevalidate: spanMs,
  staleIfError: spanMs,
  lifetime: spanMs,
  regressedSince: epochMs.optional(),
  /** Absent for 0. */
  ageValueSeconds: z
    .int()
    .min(0)
    .max(2 ** 31)
    .default(0),
  awaitedBlock: z.int().min(0).optional(),
  equalMs: spanMs.optional(),
  completeness: z.object({
    order: order.optional(),
    rank: z.int().min(0).max(HIGHEST_RANK),
    members: fingerprints,
    tentative: fingerprints,
    states: states.optional(),
    lacksStates: z.literal(true).optional(),
  }),
});

/**
 * An entry as bytes, with its body in one coding. Of its proof only the instant of an equal answer is stored: blocks that
 * one instance has read prove nothing to another. The body must not be larger than {@link MAX_BODY_BYTES}.
 */
export function encodeEntry({ content, meta, proof, ...entry }: Entry, { coding, body }: CodedBody): Buffer {
  const { order, members, tentative, states, ...completeness } = entry.completeness;
  const stored: z.input<typeof STORED_META> = {
    ...entry,
    head: meta,
    equalMs: proof?.equalMs ?? entry.equalMs,
    ageValueSeconds: entry.ageValueSeconds || undefined,
    coding,
    bytes: content.bytes,
    completeness: {
      ...completeness,
      order: order?.toString(),
      members: members.toString('base64'),
      tentative: tentative.toString('base64'),
      states: states?.toString('base64'),
    },
  };
  const metaBytes = Buffer.from(JSON.stringify(stored));
  const bytes = Buffer.concat([Buffer.alloc(AT.meta), metaBytes, body]);
  bytes.writeUInt32BE(MAGIC, AT.magic);
  bytes.writeUInt32BE(metaBytes.length, AT.metaLength);
  bytes.writeUInt32BE(crc32(bytes.subarray(AT.metaLength)), AT.checksum);
  return bytes;
}

/**
 * The entry that was encoded under this key. Its body has memory of its own and is still in the stored coding.
 * `undefined` for anything else: another version, damaged or foreign bytes, another key, impossible numbers, text that
 * cannot be sent in a header. Never throws. Whether a body stored as gzip really is gzip only shows when it is
 * unpacked.
 */
export function decodeEntry(bytes: Buffer, key: string): Entry | undefined {
  if (bytes.byteLength < AT.meta || bytes.readUInt32BE(AT.magic) !== MAGIC) return undefined;
  if (bytes.readUInt32BE(AT.checksum) !== crc32(bytes.subarray(AT.metaLength))) return undefined;
  const bodyAt = AT.meta + bytes.readUInt32BE(AT.metaLength);
  const stored = metaIn(bytes.subarray(AT.meta, bodyAt));
  const body = bytes.subarray(bodyAt);
  if (stored?.key !== key || (stored.coding === 'identity' ? body.length !== stored.bytes : body.length === 0)) {
    return undefined;
  }
  const entry = newEntry({
    regressedSince: undefined,
    awaitedBlock: undefined,
    proof: undefined,
    equalMs: undefined,
    ...stored,
    meta: sharedMeta({ apiVersion: undefined, ...stored.head }),
    content: contentOf(ownedBytes(body), stored.coding, stored.bytes),
    completeness: completenessOf(stored.completeness),
  });
  const { askedAt, freshUntil } = entry;
  return freshUntil >= askedAt && keptUntil(entry) <= askedAt + MAX_SPAN_MS ? entry : undefined;
}

function metaIn(json: Buffer): z.output<typeof STORED_META> | undefined {
  try {
    return STORED_META.safeParse(JSON.parse(json.toString())).data;
  } catch {
    return undefined;
  }
}
