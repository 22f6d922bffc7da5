import { CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import { usableUntil } from '../freshness.ts';
import { type ConnectedRedis, NodeLost } from '../redis/connect.ts';
import { type Budget, withinBudget } from '../redis/within-budget.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import { type CodedBody, type Entry, keptBytes } from './entry.ts';
import { COPY_BYTES, checksumOf, encodeEntry, isCopyOf, MAX_BODY_BYTES, type SharedCopy } from './entry-codec.ts';
import {
  type Acquired,
  DELETE,
  type LeaseRequest,
  type Read,
  RedisStore,
  type RedisStoreOutcome,
  type SharedStore,
} from './redis-store.ts';

/** The events of a `RedisTier`: one for each read and write, and `redis-available` when that changes. */
export type RedisTierEvent =
  | {
      readonly name: 'redis-read';
      readonly outcome: 'found' | 'absent' | 'corrupt' | 'failed' | 'rejected-by-breaker';
      readonly durationMs: Ms;
    }
  | {
      readonly name: 'redis-write';
      readonly outcome: RedisStoreOutcome | 'failed' | 'rejected-by-breaker' | 'dropped' | 'expired';
      readonly durationMs: Ms;
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
  readonly connection: Pick<ConnectedRedis, 'getBuffer' | 'getStart' | 'runScript'>;
  /** The Redis key of an entry, by its key. */
  readonly redisKey: (key: string) => string;
  /** The body of an entry as it is stored. Never rejects. */
  readonly toStore: (entry: Entry) => Promise<CodedBody>;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly report: (event: RedisTierEvent) => void;
  /** The longest that one look-up may take. */
  readonly budgetMs: Ms;
  /**
   * After `faults` in a row a circuit breaker is open for `openMs`, then one call is a trial. Reads and writes have one
   * each.
   */
  readonly breaker: { readonly faults: number; readonly openMs: Ms };
  /** Bounds on the entries being written; one beyond either is dropped. */
  readonly maxPendingWrites: number;
  readonly maxPendingWriteBytes: number;
}

type RedisFault = 'failed' | 'rejected-by-breaker';

/** What a look-up found. `failed` is not `absent`: it says nothing about the key. */
export type RedisRead = Exclude<Read, { state: 'corrupt' }> | { readonly state: 'absent' | 'failed' };

/**
 * The tier that instances share. A fault of Redis (unreachable, hung, slow, read-only, full) costs a look-up its budget
 * at most and is `failed`; damaged bytes are `absent`. Writes run in the background and are never waited for.
 */
export class RedisTier {
  readonly #dependencies: RedisTierDependencies;
  readonly #reads: CircuitBreaker;
  readonly #writes: CircuitBreaker;
  readonly #store: RedisStore;
  /** For the report that a circuit breaker opened. */
  #lastFault: unknown;
  readonly #pending = new Set<Promise<void>>();
  #pendingBytes = 0;

  constructor(dependencies: RedisTierDependencies) {
    this.#dependencies = dependencies;
    this.#store = new RedisStore(dependencies);
    this.#reads = this.#breakerOf('read');
    this.#writes = this.#breakerOf('write');
  }

  /**
   * The usable entry of a key. With a copy, `unchanged` if Redis still holds the entry that was copied: a few bytes are
   * read instead of the whole entry. Never rejects.
   */
  async get(key: string, copy?: SharedCopy): Promise<RedisRead> {
    const { report, monotonic, budgetMs } = this.#dependencies;
    const startedAt = monotonic();
    const read = await this.#through(this.#reads, () =>
      withinBudget(budgetMs, (budget) => this.#read(key, budget, copy)),
    );
    const { state } = typeof read === 'string' ? { state: read } : read;
    report({
      name: 'redis-read',
      outcome: state === 'unchanged' ? 'found' : state,
      durationMs: monotonic() - startedAt,
    });
    if (typeof read === 'string') return { state: 'failed' };
    return read.state === 'found' || read.state === 'unchanged' ? read : { state: 'absent' };
  }

  /** Reads the entry and takes its lease if nobody has it, in one step; `undefined` when Redis fails. */
  async acquire(key: string, request: LeaseRequest): Promise<Acquired | undefined> {
    const acquired = await this.#through(this.#reads, () =>
      withinBudget(request.budgetMs, () => this.#store.acquire(key, request).catch(refusedAlone)),
    );
    return typeof acquired === 'string' ? undefined : acquired;
  }

  /**
   * Stores an entry until its `usableUntil`; `precedence.ts` decides whether it replaces the one in Redis. Returns whether
   * the store is under way; only then `onEnd` is called.
   */
  set(entry: Entry, store?: SharedStore): boolean {
    const { report, now, maxPendingWrites, maxPendingWriteBytes } = this.#dependencies;
    const sizeBytes = keptBytes(entry.content);
    if (usableUntil(entry) <= now()) {
      report({ name: 'redis-write', outcome: 'expired', durationMs: 0 });
      return false;
    }
    const tooMuch = this.#pending.size >= maxPendingWrites || this.#pendingBytes + sizeBytes > maxPendingWriteBytes;
    if (tooMuch || entry.content.bytes > MAX_BODY_BYTES) {
      report({ name: 'redis-write', outcome: 'dropped', durationMs: 0 });
      return false;
    }
    this.#pendingBytes += sizeBytes;
    const write = this.#write(entry, store).finally(() => {
      this.#pendingBytes -= sizeBytes;
      this.#pending.delete(write);
    });
    this.#pending.add(write);
    return true;
  }

  /** Never rejects; an entry that cannot be deleted expires in its time. */
  async delete(key: string): Promise<void> {
    const { connection, redisKey } = this.#dependencies;
    await connection.runScript(DELETE, [redisKey(key)], []).catch(() => {});
  }

  /** The number of entries that are being written. */
  get pendingWrites(): number {
    return this.#pending.size;
  }

  /** Resolves when no entry is being written, including those added meanwhile. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #read(key: string, budget: Budget, copy: SharedCopy | undefined): Promise<Read> {
    const { connection } = this.#dependencies;
    const redisKey = this.#dependencies.redisKey(key);
    if (copy !== undefined && isCopyOf(await connection.getStart(redisKey, COPY_BYTES), copy)) {
      return { state: 'unchanged' };
    }
    const bytes = budget.isOver ? undefined : await connection.getBuffer(redisKey);
    return bytes === undefined || budget.isOver ? { state: 'absent' } : this.#store.decode(bytes, key);
  }

  async #write(entry: Entry, store: SharedStore | undefined): Promise<void> {
    const { report, monotonic, toStore } = this.#dependencies;
    const startedAt = monotonic();
    const bytes = encodeEntry(entry, await toStore(entry));
    const outcome = await this.#through(this.#writes, () => this.#store.put(entry, bytes, store));
    report({ name: 'redis-write', outcome, durationMs: monotonic() - startedAt });
    store?.onEnd(STORE_ENDS[outcome], checksumOf(bytes));
  }

  async #through<T>(breaker: CircuitBreaker, work: () => Promise<T>): Promise<T | RedisFault> {
    const end = breaker.admit();
    if (end === undefined) return 'rejected-by-breaker';
    try {
      const result = await work();
      end('success');
      return result;
    } catch (error) {
      this.#lastFault = error;
      // The loss of one node of a Cluster does not count: the other nodes can still be asked.
      end(error instanceof NodeLost ? 'unknown' : 'failure');
      return 'failed';
    }
  }

  #breakerOf(operation: 'read' | 'write'): CircuitBreaker {
    const { monotonic, report } = this.#dependencies;
    const { faults, openMs } = this.#dependencies.breaker;
    return new CircuitBreaker({
      now: monotonic,
      failures: new FailuresInARow(faults),
      openMs: () => openMs,
      onTransition: ({ state }) => {
        const isOpen = state === 'open';
        const reason = isOpen && this.#lastFault instanceof Error ? this.#lastFault.message : undefined;
        report({ name: 'redis-available', operation, available: !isOpen, reason });
      },
    });
  }
}

/** What a store came to, for who asked for it. */
const STORE_ENDS = {
  stored: 'stored',
  older: 'kept',
  regressed: 'kept',
  taken: 'unknown',
  failed: 'failed',
  'rejected-by-breaker': 'failed',
} as const;

/** A Redis that refuses to write (read-only, full) can still be read. */
function refusedAlone(error: unknown): 'failed' {
  if (error instanceof Error && error.name === 'ReplyError') return 'failed';
  throw error;
}
