import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip, gunzipSync, gzip } from 'node:zlib';
import { bodyIn, type CodedBody, type Coding, type Content, type Entry, ownedBytes, setBody } from './entry.ts';

/** An answer with a shorter lifetime is only compressed when a second client asks for gzip. */
const LASTING_MS = 10_000;

/** A shorter body is never compressed. */
const SHORTEST_BYTES = 1024;

/** A shorter body is not compressed for Redis alone. */
const SHORTEST_FOR_REDIS_BYTES = 32 * 1024;

/** The maximum number of bodies that are compressed at the same time. Above it answers are sent uncompressed. */
const MOST_AT_ONCE = 64;

/**
 * Bodies up to this length are unpacked on the main thread: at most 150 us, less than a round trip to the thread pool.
 */
const QUICK_BYTES = 64 * 1024;

/** The flags of a content: the codings that clients of this instance wanted. */
const [PLAIN_WANTED, GZIP_WANTED] = [1, 2];

export interface SentBody extends CodedBody {
  /** True if the coding depends on `Accept-Encoding`, so that `Vary` must name it. */
  readonly varies: boolean;
}

export interface GzipDependencies {
  /**
   * Called when the kept codings of an entry change, or their place in memory: the size of the entry changes with them.
   */
  readonly onChange: (entry: Entry) => void;
  /** Called when a body was compressed. */
  readonly onPacked: () => void;
  /** If false, all answers are sent unchanged. */
  readonly enabled: boolean;
}

/**
 * Chooses between plain and gzip for each client, and compresses off the event loop, while the client gets the plain
 * body. An entry is kept only in the codings that clients want: if all clients accept gzip, only as gzip. So an answer
 * that was compressed for Redis alone is compressed again for the first client that accepts gzip.
 */
export class Gzip {
  readonly #dependencies: GzipDependencies;
  readonly #packing = new Map<Content, Promise<CodedBody | undefined>>();
  readonly #unpacking = new Map<Content, Promise<SentBody>>();

  constructor(dependencies: GzipDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The body for a client; a promise if it has to be unpacked first. The promise rejects if the body is not gzip.
   * Damage in Redis cannot cause this, because the checksum of an entry covers its body.
   */
  bodyFor(entry: Entry, acceptsGzip: boolean): SentBody | Promise<SentBody> {
    const { content, lifetime } = entry;
    if (!acceptsGzip || !this.#mayPack(content)) return this.#plain(entry);
    const wasWanted = (content.flags & GZIP_WANTED) !== 0;
    content.flags |= GZIP_WANTED;
    if (content.gzip !== undefined) return this.#sent(content, 'gzip');
    if (wasWanted || lifetime >= LASTING_MS) void this.#pack(entry);
    // The plain body is sent only until gzip is ready. It does not count as wanted, so that it is not kept.
    return this.#sent(content, 'identity');
  }

  /**
   * The body of an entry for Redis. Gzip if it is made for a client, so that no other instance makes it again. For
   * Redis alone, gzip is made only for 32 KiB or more with a lifetime of at least 10 s.
   */
  async toStore(entry: Entry): Promise<CodedBody> {
    const { content, lifetime } = entry;
    // By then, the client of this load has asked for a coding.
    await turnOfLoop();
    const isWorthwhile = lifetime >= LASTING_MS && content.bytes >= SHORTEST_FOR_REDIS_BYTES && this.#mayPack(content);
    const packing = isWorthwhile && content.gzip === undefined ? this.#pack(entry) : this.#packing.get(content);
    return (await packing) ?? keptBody(content);
  }

  /** Keeps a body in other memory: the same bytes, after the head of a hit. */
  move(entry: Entry, coding: Coding, body: Buffer): void {
    setBody(entry.content, coding, body);
    this.#dependencies.onChange(entry);
  }

  #mayPack({ bytes }: Content): boolean {
    return this.#dependencies.enabled && bytes >= SHORTEST_BYTES;
  }

  #sent(content: Content, coding: Coding): SentBody {
    return { coding, body: bodyIn(content, coding) as Buffer, varies: this.#mayPack(content) };
  }

  /** Makes the gzip of an entry, once at a time; `undefined` if that failed. */
  #pack(entry: Entry): Promise<CodedBody | undefined> {
    const { content } = entry;
    const underWay = this.#packing.get(content);
    if (underWay !== undefined) return underWay;
    if (this.#packing.size >= MOST_AT_ONCE) return Promise.resolve(undefined);
    const packed = this.#packNow(entry)
      .catch(() => undefined)
      .finally(() => this.#packing.delete(content));
    this.#packing.set(content, packed);
    return packed;
  }

  async #packNow(entry: Entry): Promise<CodedBody | undefined> {
    const { content } = entry;
    const plain = bodyIn(content, 'identity');
    if (plain === undefined) return undefined;
    const body = await compress(plain);
    this.#dependencies.onPacked();
    if ((content.flags & GZIP_WANTED) !== 0) {
      setBody(content, 'gzip', body);
      if ((content.flags & PLAIN_WANTED) === 0) content.identity = undefined;
      this.#dependencies.onChange(entry);
    }
    return { coding: 'gzip', body };
  }

  #plain(entry: Entry): SentBody | Promise<SentBody> {
    const { content } = entry;
    content.flags |= PLAIN_WANTED;
    if (content.identity !== undefined) return this.#sent(content, 'identity');
    const underWay = this.#unpacking.get(content);
    if (underWay !== undefined) return underWay;
    const unpacking = this.#unpack(entry).finally(() => this.#unpacking.delete(content));
    // Callers that only check whether the body is ready do not wait for it.
    unpacking.catch(() => {});
    this.#unpacking.set(content, unpacking);
    return unpacking;
  }

  async #unpack(entry: Entry): Promise<SentBody> {
    const { content } = entry;
    setBody(content, 'identity', await decompress(bodyIn(content, 'gzip') as Buffer, content.bytes));
    if ((content.flags & GZIP_WANTED) === 0) content.gzip = undefined;
    this.#dependencies.onChange(entry);
    return this.#sent(content, 'identity');
  }
}

/** A coding in which a content is kept: gzip if there is one. */
export function keptBody(content: Content): CodedBody {
  const coding = content.gzip === undefined ? 'identity' : 'gzip';
  return { coding, body: bodyIn(content, coding) as Buffer };
}

/**
 * The body as the indexer sent it. Reading it here does not count as a client's choice of encoding. Rejects if the kept
 * gzip is invalid.
 */
export async function plainBodyOf(content: Content): Promise<Buffer> {
  const { coding, body } = keptBody(content);
  return coding === 'identity' ? body : decompress(body, content.bytes);
}

const [gzipAsync, gunzipAsync] = [promisify(gzip), promisify(gunzip)];

/**
 * Compresses off the event loop, into memory of its own. Answers of 2 to 25 KB become 2.0 to 4.8 times smaller; higher
 * levels cost far more CPU time and gain 2 %.
 */
export async function compress(body: Buffer): Promise<Buffer> {
  return ownedBytes(await gzipAsync(body, { level: 6 }));
}

/**
 * Unpacks a body of this length: a small one immediately, a large one off the event loop. Rejects if the bytes do not
 * unpack to this length. Takes no more memory than this length.
 */
export async function decompress(body: Buffer, length: number): Promise<Buffer> {
  // With one byte of room beyond the length, zlib ends in one pass and still notices a body that is too long.
  const options = { maxOutputLength: Math.max(1, length), chunkSize: Math.max(64, length + 1) };
  const plain = length > QUICK_BYTES ? await gunzipAsync(body, options) : gunzipSync(body, options);
  if (plain.length !== length) throw new Error('the unpacked body has another length than the stored one had');
  return ownedBytes(plain);
}
