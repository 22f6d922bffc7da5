import type { Entry } from './entry.ts';

/**
 * The outcome of one look-up in one tier. `failed` is not `absent`: it says nothing about the key, only that this tier
 * cannot help now.
 */
export type TierRead =
  /** `checksum`: of its bytes in a shared tier. */
  | { readonly state: 'found'; readonly entry: Entry; readonly checksum?: number }
  /** The tier still holds the entry that the given copy was made of. */
  | { readonly state: 'unchanged' }
  | { readonly state: 'absent' }
  | { readonly state: 'failed' };

/**
 * One place that keeps entries by their key. No method throws or rejects. An entry past its `usableUntil` is absent; a
 * stored entry whose key differs from the one asked for is absent. `precedence.ts` decides which entries replace a kept
 * one.
 */
export interface Tier {
  get(key: string): TierRead | Promise<TierRead>;
  /** Keeps an entry until its `usableUntil` at most. Returns whether it was accepted: a tier is bounded. */
  set(entry: Entry): boolean;
}

/** What asks for a lease, see `redis-store.ts`. */
export interface LeaseRequest {
  readonly token: string;
  /** How long the lease lasts, in milliseconds. */
  readonly leaseMs: number;
  /** In milliseconds. */
  readonly budgetMs: number;
}

/** What a shared tier held when it was asked for a lease. */
export interface Acquired {
  /** The value of the lease that another instance has; `undefined` when the lease is ours. */
  readonly holder: string | undefined;
  readonly read: TierRead & { readonly state: 'found' | 'absent' };
}

/** How an entry is stored in a shared tier. */
export interface SharedStore {
  /** The lease under which it was loaded and compared; without it the tier compares the entry with its own. */
  readonly token?: string | undefined;
  /** A kept entry that was asked for up to here (epoch ms) is purged: this entry replaces it. */
  readonly purgedUntil: number;
  /**
   * Called once, when Redis has answered or has failed. `kept`: Redis holds a better entry, which stays. `unknown`: another instance is loading the key, and its answer may be better. `checksum`: of
   * the bytes sent to Redis.
   */
  readonly onEnd: (outcome: 'stored' | 'kept' | 'unknown' | 'failed', checksum?: number) => void;
}

/** A copy in memory of what a shared tier held. */
export interface SharedCopy {
  readonly askedAt: number;
  /** The checksum of its bytes in the shared tier. */
  readonly checksum: number;
}

/** A tier that instances share. */
export interface SharedTier extends Tier {
  /**
   * With a copy, the result is `unchanged` if the tier still holds the entry that was copied: a few bytes are read instead of
   * the whole entry.
   */
  get(key: string, copy?: SharedCopy): TierRead | Promise<TierRead>;
  /** Reads the entry and takes its lease if nobody has it, in one step; `undefined` when the tier fails. */
  acquire(key: string, request: LeaseRequest): Promise<Acquired | undefined>;
  /** Never rejects; an entry that cannot be deleted expires in its time. */
  delete(key: string): Promise<void>;
  /** Returns whether the store is under way; only then `onEnd` is called. */
  set(entry: Entry, store?: SharedStore): boolean;
}
