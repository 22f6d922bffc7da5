// eslint-disable-next-line no-restricted-syntax -- a token only has to differ from those of all instances
import { randomUUID } from 'node:crypto';
import { isDatedAhead, keptUntil, storedUntil } from '../freshness.ts';
import { type RedisBreaker, type RedisBreakerDependencies, type RedisFault, redisBreaker } from '../redis/breaker.ts';
import type { ConnectedRedis } from '../redis/connect.ts';
import { NodeLost } from '../redis/node-lost.ts';
import { withinBudget } from '../redis/within-budget.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import { type CodedBody, type Entry, keptBytes } from './entry.ts';
import { decodeEntry, encodeEntry, MAX_BODY_BYTES } from './entry-codec.ts';
import { precedenceOver } from './precedence.ts';
import { leaseKeyOf } from './redis-keys.ts';
import { ACQUIRE, END_LEASE, FAILED, STORE } from './redis-scripts.ts';
import { tryReading, tryWriting } from './redis-trial.ts';

/**
 * The result of a write. `older` and `regressed`: Redis holds a better entry, which stays. `taken`: a later load of the
 * key holds its lease, and will store its own answer.
 */
type WriteOutcome = 'stored' | 'older' | 'regressed' | 'taken' | RedisFault;

/** The events of a `RedisTier`: one for each read and write, and `redis-available` when that changes. */
export type RedisTierEvent =
  | {
      readonly name: 'redis-read';
      readonly outcome: 'found' | 'absent' | 'corrupt' | RedisFault;
      readonly durationMs: Ms;
    }
  | {
      readonly name: 'redis-write';
      readonly outcome: WriteOutcome | 'dropped' | 'expired';
      readonly durationMs: Ms;
    }
  | {
      /** Why a call failed, each time. */
      readonly name: 'redis-error';
      readonly reason: string;
    }
  | {
      readonly name: 'redis-available';
      readonly operation: 'read' | 'write';
      readonly available: boolean;
      /** The last fault, when Redis is no longer available. */
      readonly reason: string | undefined;
    };

/** What a `RedisTier` is built from. */
export interface RedisTierDependencies {
  readonly connection: Pick<ConnectedRedis, 'getBuffer' | 'runScript'>;
  /** The Redis key of an entry, by its key. */
  readonly redisKey: (key: string) => string;
  /** The body of an entry as it is stored. Never rejects. */
  readonly toStore: (entry: Entry) => Promise<CodedBody>;
  /** The time after its request for which an entry may be proven; 0 if blocks prove no such entry. */
  readonly provableMs: (entry: Entry) => Ms;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly report: (event: RedisTierEvent) => void;
  /** The longest time of one look-up. */
  readonly budgetMs: Ms;
  /** Reads and writes have separate circuit breakers. */
  readonly breaker: RedisBreakerDependencies['breaker'];
  /**
   * The bound on the bytes of entries being written; an entry above it is dropped. An entry that is larger is written
   * alone.
   */
  readonly maxPendingWriteBytes: number;
}

/** The result of a look-up. `failed` is not `absent`: it says nothing about the key. */
export type RedisRead = { readonly state: 'found'; readonly entry: Entry } | { readonly state: 'absent' | 'failed' };

export interface LeaseRequest {
  readonly token: string;
  readonly leaseMs: Ms;
  readonly budgetMs: Ms;
}

/** The state of Redis when a lease is taken, or belongs to another instance. */
interface Acquired {
  /** The value of another instance's lease; `undefined` when the lease is ours. */
  readonly holder: string | undefined;
  readonly found: Entry | undefined;
}

/** A write counts as at least this many bytes: its command and its place in the queue of the client take memory too. */
const LEAST_WRITE_BYTES = 64 * 1024;

/** The time in which a store may compare an entry with the one in Redis. */
const COMPARE_MS = 1000;

/**
 * The tier that instances share. A fault of Redis (unreachable, hung, slow, read-only, full) costs a look-up at most
 * its budget and yields `failed`; damaged bytes are `absent`. Writes run in the background; no request waits for them.
 *
 * Two answers of one key are compared in this process (`precedence.ts`), so the compared entry must still be there when
 * the answer is written. A lease ensures this: a token under a key next to the entry, with an expiry. Its holder has
 * read the entry in the same step in which it took the lease, and every write ends the lease. So while the lease lasts,
 * the entry is the one that the holder has read, or is gone.
 */
export class RedisTier {
  readonly #dependencies: RedisTierDependencies;
  readonly #reading: RedisBreaker;
  readonly #writing: RedisBreaker;
  readonly #pending = new Set<Promise<WriteOutcome>>();
  #pendingBytes = 0;

  constructor(dependencies: RedisTierDependencies) {
    this.#dependencies = dependencies;
    const { budgetMs, connection, redisKey } = dependencies;
    const breakerOf = (operation: 'read' | 'write', trial: () => Promise<void>) =>
      redisBreaker({
        ...dependencies,
        trial,
        // When one node of a Cluster is lost, the others can still be asked.
        isFault: (error) => !(error instanceof NodeLost),
        onAvailable: (available, reason) =>
          dependencies.report({ name: 'redis-available', operation, available, reason }),
        onFault: (reason) => dependencies.report({ name: 'redis-error', reason }),
      });
    this.#reading = breakerOf('read', () => withinBudget(budgetMs, () => tryReading(connection, redisKey)));
    this.#writing = breakerOf('write', () => tryWriting(connection, redisKey));
  }

  /** The entry of a key, until its `keptUntil` or as long as it may be proven, unless it is dated ahead. Never rejects. */
  async get(key: string): Promise<RedisRead> {
    const { report, monotonic, budgetMs } = this.#dependencies;
    const startedAt = monotonic();
    const read = await this.#reading.call(() => withinBudget(budgetMs, () => this.#read(key)));
    const outcome = typeof read === 'string' ? read : 'found';
    report({ name: 'redis-read', outcome, durationMs: monotonic() - startedAt });
    if (typeof read !== 'string') return { state: 'found', entry: read };
    return { state: read === 'absent' || read === 'corrupt' ? 'absent' : 'failed' };
  }

  /** Reads the entry and takes its lease if it is free, in one step; `undefined` when Redis fails. */
  async acquire(key: string, request: LeaseRequest): Promise<Acquired | undefined> {
    const acquired = await this.#reading.call(() =>
      withinBudget(request.budgetMs, () => this.#acquire(key, request).catch(refusedAlone)),
    );
    return typeof acquired === 'string' ? undefined : acquired;
  }

  /**
   * Stores an entry until its `storedUntil`; `precedence.ts` decides whether it replaces the one in Redis. `token`: of
   * the lease under which it was loaded and compared; without one it is compared here. Returns the result of the write,
   * which never rejects; `undefined` if it does not begin.
   */
  set(entry: Entry, token?: string): Promise<WriteOutcome> | undefined {
    const { report, now, maxPendingWriteBytes } = this.#dependencies;
    const sizeBytes = Math.max(LEAST_WRITE_BYTES, keptBytes(entry.content));
    const isExpired = storedUntil(entry) <= now();
    const tooMuch = this.#pendingBytes > 0 && this.#pendingBytes + sizeBytes > maxPendingWriteBytes;
    if (isExpired || tooMuch || entry.content.bytes > MAX_BODY_BYTES) {
      report({ name: 'redis-write', outcome: isExpired ? 'expired' : 'dropped', durationMs: 0 });
      return undefined;
    }
    this.#pendingBytes += sizeBytes;
    const write = this.#write(entry, token).finally(() => {
      this.#pendingBytes -= sizeBytes;
      this.#pending.delete(write);
    });
    this.#pending.add(write);
    return write;
  }

  /** The number of entries that are being written. */
  get pendingWrites(): number {
    return this.#pending.size;
  }

  /** Resolves when no entry is being written, including entries added in the meantime. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** Resolves like {@link idle}; Redis is not used any more. */
  async close(): Promise<void> {
    await this.idle();
    this.#reading.close();
    this.#writing.close();
  }

  async #read(key: string): Promise<Entry | 'absent' | 'corrupt'> {
    const { connection, redisKey } = this.#dependencies;
    const bytes = await connection.getBuffer(redisKey(key));
    return bytes === undefined ? 'absent' : this.#decoded(bytes, key);
  }

  #decoded(bytes: Buffer, key: string): Entry | 'absent' | 'corrupt' {
    const entry = decodeEntry(bytes, key);
    if (entry === undefined) return 'corrupt';
    const { now, provableMs } = this.#dependencies;
    const at = now();
    const until = Math.max(keptUntil(entry), entry.askedAt + provableMs(entry));
    return until <= at || isDatedAhead(entry, at) ? 'absent' : entry;
  }

  async #acquire(key: string, { token, leaseMs }: Omit<LeaseRequest, 'budgetMs'>): Promise<Acquired> {
    const reply = await this.#dependencies.connection.runScript(ACQUIRE, this.#keys(key), [token, leaseMs]);
    if (!isPairOfValues(reply)) throw new Error('Redis sent no response to a lease');
    const [holder, bytes] = reply;
    const read = bytes === null ? 'absent' : this.#decoded(bytes, key);
    return { holder: holder?.toString(), found: typeof read === 'string' ? undefined : read };
  }

  async #write(entry: Entry, token: string | undefined): Promise<WriteOutcome> {
    const { report, monotonic, toStore } = this.#dependencies;
    const startedAt = monotonic();
    const bytes = encodeEntry(entry, await toStore(entry));
    const outcome = await this.#writing.call(() => this.#put(entry, bytes, token));
    report({ name: 'redis-write', outcome, durationMs: monotonic() - startedAt });
    return outcome;
  }

  /** Without a lease, or after its end, the entry is compared under a lease of its own. */
  async #put(entry: Entry, bytes: Buffer, givenToken = ''): Promise<WriteOutcome> {
    const { connection, now } = this.#dependencies;
    const keys = this.#keys(entry.key);
    const ttlMs = Math.max(1, Math.ceil(storedUntil(entry) - now()));
    const isStored = async (token: string) => (await connection.runScript(STORE, keys, [token, bytes, ttlMs])) === 1;
    if (await isStored(givenToken)) return 'stored';
    const token = randomUUID();
    const { holder, found } = await this.#acquire(entry.key, { token, leaseMs: COMPARE_MS });
    const isFailed = holder?.startsWith(FAILED) === true;
    if (holder !== undefined && !isFailed) return 'taken';
    const precedence = found === undefined ? 'replaces' : precedenceOver(found, entry, now());
    // While the value of a failed load is there, no other load has written.
    if (precedence === 'replaces') return (await isStored(holder ?? token)) ? 'stored' : 'taken';
    if (!isFailed) await connection.runScript(END_LEASE, keys.slice(1), [token, '', 0]);
    return precedence;
  }

  #keys(key: string): readonly [entry: string, lease: string] {
    const redisKey = this.#dependencies.redisKey(key);
    return [redisKey, leaseKeyOf(redisKey)];
  }
}

function isPairOfValues(reply: unknown): reply is readonly [Buffer | null, Buffer | null] {
  return Array.isArray(reply) && reply.length === 2 && reply.every((part) => part === null || Buffer.isBuffer(part));
}

/** A Redis that refuses to write (read-only, full) can still be read. */
function refusedAlone(error: unknown): 'failed' {
  if (error instanceof Error && error.name === 'ReplyError') return 'failed';
  throw error;
}
