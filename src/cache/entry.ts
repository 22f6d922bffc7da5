import { hash } from 'node:crypto';
import type { Instants, Proof, Retention } from '../freshness.ts';

/** The metadata that many answers have in common. Entries share these objects, see {@link sharedMeta}. */
export interface Meta {
  /** The status of the indexer's answer: 200, or 404 for a true absence. */
  readonly status: number;
  /** The indexer's `Content-Type`, byte for byte. */
  readonly contentType: string;
  /** The indexer's `X-API-Version`, if it sent one. */
  readonly apiVersion: string | undefined;
  /** The answer class (`final`, `growing`, `live`, ...), for metrics. */
  readonly answerClass: string;
  /** The longest time for which a client may keep the answer, in whole seconds; 0 means `no-store`. */
  readonly maxAgeSeconds: number;
  /** Host and port of the indexer that answered; empty with a single indexer. */
  readonly indexer: string;
  /**
   * True if this indexer had not named its chain yet: then no other instance gets the answer.
   */
  readonly isLocal?: boolean;
  /** Set if it came with an `Age`: other caches may have had it for up to a second longer than that. */
  readonly isAged?: true | undefined;
  /** The time for which the answer is kept after its use; `undefined` if it is not. */
  readonly retention?: Retention | undefined;
}

/** A stored answer: immutable bytes with the instants that decide its remaining use. */
export interface Entry extends Instants {
  /**
   * The whole canonical key. It is compared on every read from Redis, so that a digest collision or a foreign value is
   * a miss.
   */
  readonly key: string;
  readonly meta: Meta;
  /** Strong entity tag over the body that the indexer sent, with its quotes (RFC 9110 8.8.3). */
  readonly etag: string;
  readonly content: Content;
  readonly completeness: Completeness;
  /**
   * The time since which only regressed answers have come, during the use of this answer or after it, epoch ms;
   * `undefined` without one.
   */
  readonly regressedSince: number | undefined;
  /** The `Age` of the indexer's answer (RFC 9111 4.2.3, `age_value`), in whole seconds: the time in other caches. */
  readonly ageValueSeconds: number;
  /**
   * The masterchain block that the indexer lacked at the request, and that the chain was not known to have reached
   * then. Once the chain has reached it, this answer is not served. `undefined` for all other answers.
   */
  readonly awaitedBlock: number | undefined;
  /**
   * Judges an answer about accounts by the transactions that this instance has seen; `undefined` if it is not judged. Not
   * stored in Redis: an entry from Redis gets the judge of the instance that reads it.
   */
  readonly proof: Proof | undefined;
  /** See `Proof.equalMs`: set only in an entry from Redis. */
  readonly equalMs: number | undefined;
}

/**
 * A new entry, of these fields only. One literal names all of them, because V8 then keeps them in the object itself: an
 * entry made by spreading takes 28 more bytes (measured).
 */
export function newEntry(fields: Entry): Entry {
  return {
    key: fields.key,
    meta: fields.meta,
    etag: fields.etag,
    content: fields.content,
    askedAt: fields.askedAt,
    freshUntil: fields.freshUntil,
    staleWhileRevalidate: fields.staleWhileRevalidate,
    staleIfError: fields.staleIfError,
    lifetime: fields.lifetime,
    completeness: fields.completeness,
    regressedSince: fields.regressedSince,
    ageValueSeconds: fields.ageValueSeconds,
    awaitedBlock: fields.awaitedBlock,
    proof: fields.proof,
    equalMs: fields.equalMs,
  };
}

/** How complete an answer is, to compare two answers of one key (`precedence.ts`). */
export interface Completeness {
  /**
   * How new the state or page in the answer is, up to {@link HIGHEST_ORDER}: the greater order is more complete, before
   * all other criteria. Absent if an answer has none, or it could not be read.
   */
  readonly order?: bigint;
  /**
   * The answer's class as a whole number from 0 to 3, or the seqno of its newest block: the greater is more complete.
   */
  readonly rank: number;
  /** {@link fingerprints} of the final rows that it lists: a later answer must list all of them. */
  readonly members: Buffer;
  /** {@link fingerprints} of its other rows, which a later answer may rightly lack. */
  readonly tentative: Buffer;
  /** The newest transaction of each account in a list that may rightly lack one ({@link statesOf}). Absent without. */
  readonly states?: Buffer;
  /**
   * Set if a row lacks the state of its account: such an answer is less complete than the same rows with all states.
   */
  readonly lacksStates?: true;
}

/** A greater order is garbage: an order consists of at most two logical times of 64 bits and a count of 16 bits. */
export const HIGHEST_ORDER = 2n ** 144n - 1n;

/** A higher rank is garbage: a seqno is an int32. */
export const HIGHEST_RANK = 2_147_483_647;

/** The highest rank of an answer class. Higher ranks are seqnos. */
export const HIGHEST_CLASS_RANK = 3;

/**
 * The maximum number of shared metadata objects. The indexer's answers have a few hundred, mostly differing in
 * `maxAgeSeconds`.
 */
const MOST_SHARED = 4096;

const shared = new Map<string, Meta>();

/**
 * The single object that all entries with this metadata share. Otherwise 100 000 entries would have 100 000 of them.
 */
export function sharedMeta(meta: Meta): Meta {
  const {
    status,
    contentType,
    apiVersion,
    answerClass,
    maxAgeSeconds,
    indexer,
    isLocal = false,
    isAged = false,
    retention,
  } = meta;
  const kept = retention === undefined ? '' : `${retention.afterUse}+${retention.sinceGiven}`;
  const name = `${status} ${maxAgeSeconds} ${answerClass} ${indexer} ${isLocal} ${isAged} ${kept} ${apiVersion === undefined ? '' : `v${apiVersion}`}\n${contentType}`;
  const known = shared.get(name);
  if (known !== undefined) return known;
  // Foreign bytes in Redis must not fill the memory with metadata.
  if (shared.size < MOST_SHARED) shared.set(name, meta);
  return meta;
}

/** Bytes of one member's fingerprint: enough that no two members of an answer are equal by chance. */
export const FINGERPRINT_BYTES = 8;

/** No fingerprints. Most answers have none, and share this buffer. */
export const NO_MEMBERS = Buffer.alloc(0);

/**
 * A TON hash in the indexer's spelling. It already is a SHA-256, so hashing it again (a microsecond) is unnecessary.
 */
const CELL_HASH = /^[A-Za-z0-9+/]{43}=$/;

const NOTHING_LISTED: readonly Completeness[] = Array.from({ length: HIGHEST_CLASS_RANK + 1 }, (_, rank) => ({
  rank,
  members: NO_MEMBERS,
  tentative: NO_MEMBERS,
}));

export interface CompletenessParts {
  readonly order?: bigint | undefined;
  readonly rank: number;
  readonly members: Buffer;
  readonly tentative: Buffer;
  readonly states?: Buffer | undefined;
  readonly lacksStates?: boolean | undefined;
}

/**
 * The completeness of an answer. Answers of one class (a rank up to {@link HIGHEST_CLASS_RANK}) without rows and order
 * share one object.
 */
export function completenessOf({
  order,
  rank,
  members,
  tentative,
  states,
  lacksStates = false,
}: CompletenessParts): Completeness {
  if (states !== undefined) return { rank, members, tentative, states };
  if (order !== undefined || lacksStates) {
    return { ...(order !== undefined && { order }), rank, members, tentative, ...(lacksStates && { lacksStates }) };
  }
  const nothing = members.length === 0 && tentative.length === 0 ? NOTHING_LISTED[rank] : undefined;
  return nothing ?? { rank, members, tentative };
}

/** The members of an answer as fingerprints: the first bytes of a member that is a SHA-256, or of its SHA-256. */
export function fingerprints(members: readonly string[]): Buffer {
  if (members.length === 0) return NO_MEMBERS;
  const bytes = Buffer.allocUnsafeSlow(FINGERPRINT_BYTES * members.length);
  let at = 0;
  for (const member of members) {
    if (CELL_HASH.test(member)) bytes.write(member, at, FINGERPRINT_BYTES, 'base64');
    else hash('sha256', member, 'buffer').copy(bytes, at, 0, FINGERPRINT_BYTES);
    at += FINGERPRINT_BYTES;
  }
  return bytes;
}

/** Bytes of one state: the fingerprint of its account, and its logical time. */
export const STATE_BYTES = FINGERPRINT_BYTES + 8;

/** The newest transactions of accounts, by their logical times. */
export function statesOf(states: readonly (readonly [account: string, lt: bigint])[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(STATE_BYTES * states.length);
  for (const [at, [account, lt]] of states.entries()) {
    fingerprints([account]).copy(bytes, STATE_BYTES * at);
    bytes.writeBigUInt64BE(lt, STATE_BYTES * at + FINGERPRINT_BYTES);
  }
  return bytes;
}

/**
 * The bytes in an allocation of their own: a slice would keep its whole read chunk in memory (measured: 32x the
 * memory). Bytes that already have their own allocation are not copied.
 */
export function ownedBytes(bytes: Buffer): Buffer {
  if (bytes.byteLength === bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength);
  copy.set(bytes);
  return copy;
}

/** The content codings (RFC 9110 8.4.1) of sent answers: unchanged from the indexer, or gzip. */
export type Coding = 'identity' | 'gzip';

/** The strong entity tag of a body (RFC 9110 8.8.3), with its quotes: the first 132 bits of its SHA-256. */
export function entityTagOf(body: Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
}

/**
 * The strong entity tag of an answer in a coding (RFC 9110 8.8.3.3): the tag of its body, with the name of the coding.
 * Versions of zlib compress differently, so one tag may stand for different bytes. This is harmless, because ranges are
 * not served and no client joins parts of two bodies.
 */
export function etagOf(etag: string, coding: Coding): string {
  return coding === 'identity' ? etag : `${etag.slice(0, -1)}-${coding}"`;
}

/**
 * A kept body: an allocation of its own, or, once it was sent from memory, the end of an allocation that begins with
 * the head of a hit. A Buffer takes 104 bytes in addition to its allocation (measured), so most bodies have none.
 */
type KeptBody = ArrayBufferLike | Buffer;

/**
 * The content of an answer (RFC 9110 6.4) as it is kept: plain, as gzip, or both, each in memory of its own and never
 * modified. Read it with {@link bodyIn}. Copies of an entry share this object, so that no body is compressed twice.
 */
export interface Content {
  /** The length of the body that the indexer sent. */
  readonly bytes: number;
  identity: KeptBody | undefined;
  gzip: KeptBody | undefined;
  /** Bits that `gzip.ts` sets. */
  flags: number;
}

export interface CodedBody {
  readonly coding: Coding;
  readonly body: Buffer;
}

/** The memory of a hit that was sent from memory, in addition to its head and body: objects (measured: 323 bytes). */
const SENT_HIT_BYTES = 330;

/** A body that is kept in one coding; `bytes` is its plain length. */
export function contentOf(body: Buffer, coding: Coding = 'identity', bytes = body.length): Content {
  const content: Content = { bytes, identity: undefined, gzip: undefined, flags: 0 };
  setBody(content, coding, body);
  return content;
}

/** The body in a coding; `undefined` if it is not kept in this coding. */
export function bodyIn(content: Content, coding: Coding): Buffer | undefined {
  const kept = content[coding];
  return kept === undefined || Buffer.isBuffer(kept) ? kept : Buffer.from(kept);
}

/** Keeps a body in a coding, and replaces the previous body in this coding. */
export function setBody(content: Content, coding: Coding, body: Buffer): void {
  content[coding] = body.length === body.buffer.byteLength ? body.buffer : body;
}

/** The number of kept bytes, in both codings, with the heads in front of bodies in the same memory. */
export function keptBytes({ identity, gzip }: Content): number {
  return allocatedBytes(identity) + allocatedBytes(gzip);
}

function allocatedBytes(kept: KeptBody | undefined): number {
  if (kept === undefined) return 0;
  return Buffer.isBuffer(kept) ? kept.buffer.byteLength + SENT_HIT_BYTES : kept.byteLength;
}
