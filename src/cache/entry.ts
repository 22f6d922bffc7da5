import { hash } from 'node:crypto';
import type { Instants } from '../instants.ts';
import type { Forms } from './forms.ts';

/** What many answers have in common: entries share these objects, see {@link sharedHead}. */
export interface Head {
  /** The status the indexer answered with: 200, or 404 for a true absence. */
  readonly status: number;
  /** The indexer's `Content-Type`, byte for byte. */
  readonly contentType: string;
  /** The indexer's `X-API-Version`, when it sent one. */
  readonly apiVersion: string | undefined;
  /** The answer class (`final`, `growing`, `live`, ...), for metrics. */
  readonly answerClass: string;
  /** The longest that a client may keep the answer after it was sent, in whole seconds; 0 means `no-store`. */
  readonly maxAgeSeconds: number;
}

/** A stored answer: immutable bytes with the instants that decide what they are still good for. */
export interface Entry extends Instants {
  /** The whole canonical key: compared on every read, so that a digest collision or a foreign value is a miss. */
  readonly key: string;
  /** What the request named, in the words of a purge, such as `seqno:7`, with spaces between them: bans are looked up by these. */
  readonly tags: string;
  readonly head: Head;
  /** Strong entity tag over the body that the indexer sent, with its quotes (RFC 9110 8.8.3). */
  readonly etag: string;
  readonly forms: Forms;
  readonly completeness: Completeness;
  /** Since when only regressed answers came; `undefined` while none did. */
  readonly regressedSince: number | undefined;
  /** Of a copy in memory whose changes a stream announces. Never in Redis: other instances do not know of it. */
  readonly watched?: WatchedCopy;
}

/** What a stream of events must know of a copy in memory. */
export interface WatchedCopy {
  /** How many events had come when the indexer was asked: a later one may not be in it. */
  readonly mark: number;
  /** Its instants without the stream, where it lives longer with it. */
  readonly unstretched?: Pick<Entry, 'freshUntil' | 'staleWhileRevalidateUntil' | 'staleIfErrorUntil'>;
}

/** How complete an answer is beside another one of its key; `precedence.ts` compares two of them. */
export interface Completeness {
  /** The answer's class as a whole number from 0 to {@link HIGHEST_RANK}: the greater is more complete. */
  readonly rank: number;
  /** {@link fingerprints} of what it lists for good: a later answer must list all of it. */
  readonly members: Buffer;
  /** {@link fingerprints} of what else it lists, and what a later answer may rightly lack. */
  readonly tentative: Buffer;
}

/** Above it there is only garbage. */
export const HIGHEST_RANK = 3;

/** The most heads that are shared: the indexer's own are a few hundred, mostly by their `max-age`. */
const MOST_SHARED_HEADS = 4096;

const heads = new Map<string, Head>();

/** The one object that all entries with this head share: of 100 000 entries each would have one of its own. */
export function sharedHead(head: Head): Head {
  const { status, contentType, apiVersion, answerClass, maxAgeSeconds } = head;
  const name = `${status} ${maxAgeSeconds} ${answerClass} ${apiVersion === undefined ? '' : `v${apiVersion}`}\n${contentType}`;
  const known = heads.get(name);
  if (known !== undefined) return known;
  // What foreign bytes in Redis say must not fill the memory.
  if (heads.size < MOST_SHARED_HEADS) heads.set(name, head);
  return head;
}

/** Bytes of one member's fingerprint: chance makes no two members of one answer equal. */
export const FINGERPRINT_BYTES = 8;

/** No fingerprints: most answers list nothing that could be added to, and share this one buffer. */
export const NO_MEMBERS = Buffer.alloc(0);

/** A hash of TON in the indexer's spelling. It is a SHA-256 already: hashing it again would cost a microsecond for nothing. */
const CELL_HASH = /^[A-Za-z0-9+/]{43}=$/;

const NOTHING_LISTED: readonly Completeness[] = Array.from({ length: HIGHEST_RANK + 1 }, (_, rank) => ({
  rank,
  members: NO_MEMBERS,
  tentative: NO_MEMBERS,
}));

/** The completeness of an answer. Those of one rank that list nothing are one object. */
export function completenessOf(rank: number, members: Buffer, tentative: Buffer): Completeness {
  const nothing = members.length === 0 && tentative.length === 0 ? NOTHING_LISTED[rank] : undefined;
  return nothing ?? { rank, members, tentative };
}

/** The members of an answer, each as the first bytes of the SHA-256 that it is, or else of its own. */
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

/**
 * The same text in one piece, for what is kept: one that was cut out of another, or put together, keeps its parts alive
 * (measured: 300 bytes instead of 72 for the tags of an entry). Texts beyond latin1 are returned as they are.
 */
export function ownedText(text: string): string {
  const copy = Buffer.from(text, 'latin1').toString('latin1');
  return copy === text ? copy : text;
}

/**
 * The same bytes in an allocation that holds nothing else: a slice would keep its whole read chunk alive (measured: 32x
 * the memory). What has its allocation for itself already is not copied.
 */
export function ownedBytes(bytes: Buffer): Buffer {
  if (bytes.byteLength === bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength);
  copy.set(bytes);
  return copy;
}
