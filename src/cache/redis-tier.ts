import { hash } from 'node:crypto';
import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleAll,
} from 'cockatiel';
import type { RedisConnection } from '../redis/connect.ts';
import { type Entry, usableUntil } from './entry.ts';
import { ASKED_AT_OFFSET, decodeEntry, encodeEntry } from './entry-codec.ts';
import type { Tier, TierRead } from './tier.ts';

/** What a `RedisTier` tells of its work. The first two come once a call, `redis-available` only when it changes. */
export type RedisTierEvent =
  | {
      readonly name: 'redis-read';
      readonly outcome: 'found' | 'absent' | 'corrupt' | 'failed' | 'rejected-by-breaker';
      readonly durationMs: number;
    }
  | {
      readonly name: 'redis-write';
      readonly outcome: 'stored' | 'failed' | 'rejected-by-breaker' | 'dropped' | 'expired';
      readonly durationMs: number;
    }
  | {
      readonly name: 'redis-available';
      readonly operation: 'read' | 'write';
      readonly available: boolean;
      /** The last fault, when it is no longer available. */
      readonly reason: string | undefined;
    };

/** What a `RedisTier` is built from. */
export interface RedisTierOptions {
  readonly connection: RedisConnection;
  /** Before the digest of every key; says whose keys these are and of which chain. */
  readonly keyPrefix: string;
  /** All work of one look-up, decompression included, ends within this. */
  readonly budgetMs: number;
  /** After `faults` in a row Redis rests for `restMs`, then one call tries it again; reads and writes apart. */
  readonly breaker: { readonly faults: number; readonly restMs: number };
  /** Bounds on the entries being written; one beyond either is dropped. */
  readonly maxPendingWrites: number;
  readonly maxPendingWriteBytes: number;
  /** The wall clock, in epoch milliseconds. */
  readonly now: () => number;
  readonly report: (event: RedisTierEvent) => void;
}

type RedisFault = 'failed' | 'rejected-by-breaker';

/**
 * The tier that instances share. A fault of Redis (away, hung, slow, read-only, full) costs a look-up its budget at
 * most and is `failed`; damaged bytes are `absent`. Writes run in the background and are never waited for.
 */
export class RedisTier implements Tier {
  readonly #options: RedisTierOptions;
  readonly #reads: CircuitBreakerPolicy;
  readonly #writes: CircuitBreakerPolicy;
  readonly #pending = new Set<Promise<void>>();
  #pendingBytes = 0;

  constructor(options: RedisTierOptions) {
    this.#options = options;
    this.#reads = reportedCircuit('read', options);
    this.#writes = reportedCircuit('write', options);
  }

  async get(key: string): Promise<TierRead> {
    const startedAt = performance.now();
    const { budgetMs, report } = this.#options;
    const read = await through(this.#reads, () => withinBudget(budgetMs, (signal) => this.#read(key, signal)));
    const outcome = typeof read === 'string' ? read : 'found';
    report({ name: 'redis-read', outcome, durationMs: performance.now() - startedAt });
    if (typeof read !== 'string') return { state: 'found', entry: read };
    return read === 'failed' || read === 'rejected-by-breaker' ? { state: 'failed' } : { state: 'absent' };
  }

  set(entry: Entry): boolean {
    const { maxPendingWrites, maxPendingWriteBytes, report, now } = this.#options;
    const sizeBytes = entry.body.byteLength;
    if (usableUntil(entry) <= now()) {
      report({ name: 'redis-write', outcome: 'expired', durationMs: 0 });
      return false;
    }
    if (this.#pending.size >= maxPendingWrites || this.#pendingBytes + sizeBytes > maxPendingWriteBytes) {
      report({ name: 'redis-write', outcome: 'dropped', durationMs: 0 });
      return false;
    }
    this.#pendingBytes += sizeBytes;
    const write = this.#write(entry).finally(() => {
      this.#pendingBytes -= sizeBytes;
      this.#pending.delete(write);
    });
    this.#pending.add(write);
    return true;
  }

  /** How many entries are being written. */
  get pendingWrites(): number {
    return this.#pending.size;
  }

  /** Resolves when no entry is being written, those that were added meanwhile included. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #read(key: string, signal: AbortSignal): Promise<Entry | 'absent' | 'corrupt'> {
    const bytes = await this.#options.connection.getBuffer(this.#redisKey(key));
    if (bytes === undefined || signal.aborted) return 'absent';
    const entry = await decodeEntry(bytes, key);
    if (entry === undefined) return 'corrupt';
    return usableUntil(entry) <= this.#options.now() ? 'absent' : entry;
  }

  async #write(entry: Entry): Promise<void> {
    const startedAt = performance.now();
    const outcome = await through(this.#writes, () => this.#store(entry));
    this.#options.report({ name: 'redis-write', outcome, durationMs: performance.now() - startedAt });
  }

  async #store(entry: Entry): Promise<'stored'> {
    const bytes = await encodeEntry(entry);
    const ttlMs = Math.max(1, Math.ceil(usableUntil(entry) - this.#options.now()));
    await this.#options.connection.set(this.#redisKey(entry.key), bytes, ttlMs, ASKED_AT_OFFSET);
    return 'stored';
  }

  // The braces make the digest the hash tag, so that what later belongs to this key can share its slot in a Cluster.
  #redisKey(key: string): string {
    return `${this.#options.keyPrefix}{${hash('sha256', key, 'base64url')}}`;
  }
}

function reportedCircuit(operation: 'read' | 'write', options: RedisTierOptions): CircuitBreakerPolicy {
  const { breaker, report } = options;
  const circuit = circuitBreaker(handleAll, {
    breaker: new ConsecutiveBreaker(breaker.faults),
    halfOpenAfter: breaker.restMs,
  });
  let available = true;
  circuit.onBreak((fault) => {
    if (!available) return; // the trial call failed: nothing new
    available = false;
    const reason = 'error' in fault && fault.error instanceof Error ? fault.error.message : undefined;
    report({ name: 'redis-available', operation, available, reason });
  });
  circuit.onReset(() => {
    available = true;
    report({ name: 'redis-available', operation, available, reason: undefined });
  });
  return circuit;
}

async function through<T>(circuit: CircuitBreakerPolicy, work: () => Promise<T>): Promise<T | RedisFault> {
  // cockatiel lets callers wait for the end of the trial call; here they go on without Redis at once.
  if (circuit.state === CircuitState.HalfOpen) return 'rejected-by-breaker';
  try {
    return await circuit.execute(work);
  } catch (error) {
    return error instanceof BrokenCircuitError ? 'rejected-by-breaker' : 'failed';
  }
}

async function withinBudget<T>(budgetMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const overrun = new AbortController();
  const { promise: overran, reject } = Promise.withResolvers<never>();
  // When the event loop stalled, the answer may lie unread in the socket as the timer fires: it is read first.
  const timer = setTimeout(() => {
    setImmediate(() => {
      overrun.abort();
      reject(new Error(`no answer within ${budgetMs} ms`));
    });
  }, budgetMs);
  try {
    return await Promise.race([work(overrun.signal), overran]);
  } finally {
    clearTimeout(timer);
  }
}
