import { usableUntil } from '../instants.ts';
import { CircuitBreaker } from '../redis/circuit-breaker.ts';
import type { RedisConnection, RedisScripting } from '../redis/connect.ts';
import { NodeLost } from '../redis/connect.ts';
import { type Budget, withinBudget } from '../redis/within-budget.ts';
import { type Entry, ownedBytes } from './entry.ts';
import {
  COPY_BYTES,
  checksumOf,
  decodeEntry,
  encodeEntry,
  isCopyOf,
  MAX_BODY_BYTES,
  STAMP_BYTES,
} from './entry-codec.ts';
import type { StoredForm } from './form-maker.ts';
import { keptBytes } from './forms.ts';
import { DELETE, DELETE_IF_SAME, isStoreOutcome, type RedisStoreOutcome, STORE } from './redis-store.ts';
import type { SharedCopy, SharedStore, SharedTier, TierRead } from './tier.ts';

/** The events of a `RedisTier`: one for each read and write, and `redis-available` when that changes. */
export type RedisTierEvent =
  | {
      readonly name: 'redis-read';
      readonly outcome: 'found' | 'absent' | 'corrupt' | 'failed' | 'rejected-by-breaker';
      readonly durationMs: number;
    }
  | {
      readonly name: 'redis-write';
      readonly outcome: RedisStoreOutcome | 'failed' | 'rejected-by-breaker' | 'dropped' | 'expired';
      readonly durationMs: number;
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
  readonly connection: RedisConnection & RedisScripting;
  /** The Redis key of an entry, by its key. */
  readonly redisKey: (key: string) => string;
  /** The form in which an entry is stored. Never rejects. */
  readonly toStore: (entry: Entry) => Promise<StoredForm>;
  /** Epoch milliseconds, the unit of entries' instants. */
  readonly now: () => number;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly report: (event: RedisTierEvent) => void;
}

export interface RedisTierOptions {
  /** The longest that one look-up may take, in milliseconds. */
  readonly budgetMs: number;
  /**
   * After `faults` in a row a circuit breaker is open for `openMs`, then one call is a trial. Reads and writes have one
   * each.
   */
  readonly breaker: { readonly faults: number; readonly openMs: number };
  /** Bounds on the entries being written; one beyond either is dropped. */
  readonly maxPendingWrites: number;
  readonly maxPendingWriteBytes: number;
}

type RedisFault = 'failed' | 'rejected-by-breaker';

/** What a read found. Without `entry` if the value is of no use, or the caller has a copy of it. */
interface Found {
  readonly outcome: 'found' | 'absent' | 'corrupt';
  readonly isUnchanged?: boolean;
  readonly entry?: Entry;
  readonly stamp: Buffer;
}

/** Whether the entry was stored, and the checksum of its bytes. */
interface Stored {
  readonly outcome: RedisStoreOutcome;
  readonly checksum: number;
}

/**
 * The tier that instances share. A fault of Redis (unreachable, hung, slow, read-only, full) costs a look-up its budget
 * at most and is `failed`; damaged bytes are `absent`. Writes run in the background and are never waited for.
 */
export class RedisTier implements SharedTier {
  readonly #dependencies: RedisTierDependencies;
  readonly #options: RedisTierOptions;
  readonly #reads: CircuitBreaker;
  readonly #writes: CircuitBreaker;
  readonly #pending = new Set<Promise<void>>();
  #pendingBytes = 0;

  constructor(dependencies: RedisTierDependencies, options: RedisTierOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#reads = reportedBreaker('read', dependencies, options.breaker);
    this.#writes = reportedBreaker('write', dependencies, options.breaker);
  }

  async get(key: string, copy?: SharedCopy): Promise<TierRead> {
    const { report, monotonic } = this.#dependencies;
    const { budgetMs } = this.#options;
    const startedAt = monotonic();
    const read = await through(this.#reads, () => withinBudget(budgetMs, (budget) => this.#read(key, budget, copy)));
    const outcome = typeof read === 'string' ? read : read.outcome;
    report({ name: 'redis-read', outcome, durationMs: monotonic() - startedAt });
    if (typeof read === 'string') return { state: 'failed' };
    const { entry, stamp } = read;
    if (read.isUnchanged === true) return { state: 'unchanged', stamp };
    return entry === undefined ? { state: 'absent', stamp } : { state: 'found', entry, stamp };
  }

  set(entry: Entry, store?: SharedStore): boolean {
    const { report, now } = this.#dependencies;
    const { maxPendingWrites, maxPendingWriteBytes } = this.#options;
    const sizeBytes = keptBytes(entry.forms);
    if (usableUntil(entry) <= now()) {
      report({ name: 'redis-write', outcome: 'expired', durationMs: 0 });
      return false;
    }
    const tooMuch = this.#pending.size >= maxPendingWrites || this.#pendingBytes + sizeBytes > maxPendingWriteBytes;
    if (tooMuch || entry.forms.bytes > MAX_BODY_BYTES) {
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

  async #read(key: string, budget: Budget, copy: SharedCopy | undefined): Promise<Found> {
    const { connection } = this.#dependencies;
    const redisKey = this.#dependencies.redisKey(key);
    if (copy !== undefined) {
      const start = await connection.getStart(redisKey, COPY_BYTES);
      const stamp = ownedBytes(start.subarray(0, STAMP_BYTES));
      if (isCopyOf(start, copy)) return { outcome: 'found', isUnchanged: true, stamp };
    }
    const bytes = budget.isOver ? undefined : await connection.getBuffer(redisKey);
    if (bytes === undefined || budget.isOver) return { outcome: 'absent', stamp: Buffer.alloc(0) };
    const stamp = ownedBytes(bytes.subarray(0, STAMP_BYTES));
    const entry = decodeEntry(bytes, key);
    if (entry === undefined) {
      this.#forget(redisKey, stamp);
      return { outcome: 'corrupt', stamp };
    }
    return usableUntil(entry) <= this.#dependencies.now()
      ? { outcome: 'absent', stamp }
      : { outcome: 'found', entry, stamp };
  }

  // Damaged bytes could look more complete than every later answer, so they are deleted. Nobody waits for that, and a
  // failure is ignored.
  #forget(redisKey: string, stamp: Buffer): void {
    this.#dependencies.connection.runScript(DELETE_IF_SAME, [redisKey], [stamp]).catch(() => {});
  }

  async #write(entry: Entry, store: SharedStore | undefined): Promise<void> {
    const { report, monotonic } = this.#dependencies;
    const startedAt = monotonic();
    const stored = await through(this.#writes, () => this.#store(entry, store?.purgedUntil ?? 0));
    const { outcome, checksum } = typeof stored === 'string' ? { outcome: stored } : stored;
    report({ name: 'redis-write', outcome, durationMs: monotonic() - startedAt });
    const isKept = outcome === 'older' || outcome === 'regressed';
    store?.onEnd(outcome === 'stored' ? 'stored' : isKept ? 'kept' : 'failed', checksum);
  }

  async #store(entry: Entry, purgedUntil: number): Promise<Stored> {
    const { connection, redisKey, now, toStore } = this.#dependencies;
    const bytes = encodeEntry(entry, await toStore(entry));
    const ttlMs = Math.max(1, Math.ceil(usableUntil(entry) - now()));
    const reply = await connection.runScript(STORE, [redisKey(entry.key)], [bytes, ttlMs, purgedUntil]);
    const outcome = String(reply);
    if (!isStoreOutcome(outcome)) throw new Error('Redis gave no answer to a store');
    return { outcome, checksum: checksumOf(bytes) };
  }
}

function reportedBreaker(
  operation: 'read' | 'write',
  { monotonic, report }: RedisTierDependencies,
  { faults, openMs }: RedisTierOptions['breaker'],
): CircuitBreaker {
  return new CircuitBreaker(
    {
      now: monotonic,
      onTransition: (transition) => {
        const error = transition.state === 'open' ? transition.error : undefined;
        const reason = error instanceof Error ? error.message : undefined;
        report({ name: 'redis-available', operation, available: transition.state === 'closed', reason });
      },
    },
    { failuresToOpen: faults, openMs },
  );
}

async function through<T>(breaker: CircuitBreaker, work: () => Promise<T>): Promise<T | RedisFault> {
  const outcome = await breaker.run(() => work().catch(failedAlone));
  return outcome === 'rejected' ? 'rejected-by-breaker' : outcome;
}

/** The loss of one node of a Cluster does not count in the circuit breaker: the other nodes can still be asked. */
function failedAlone(error: unknown): 'failed' {
  if (error instanceof NodeLost) return 'failed';
  throw error;
}
