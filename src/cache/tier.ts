import type { Entry } from './entry.ts';

/**
 * The outcome of one look-up in one tier. `failed` is not `absent`: it says nothing about the key, only that this tier
 * cannot help now.
 */
export type TierRead =
  | { readonly state: 'found'; readonly entry: Entry; readonly stamp?: Buffer }
  /** The tier still holds the entry that the given copy was made of. */
  | { readonly state: 'unchanged'; readonly stamp: Buffer }
  | { readonly state: 'absent'; readonly stamp?: Buffer }
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

/** How an entry is stored in a shared tier. */
export interface SharedStore {
  /** A kept entry that was asked for up to here (epoch ms) is purged: this entry replaces it. */
  readonly purgedUntil: number;
  /**
   * Called once, when Redis has answered or has failed. `kept`: Redis holds another entry, which stays. `checksum`: of
   * the bytes sent to Redis.
   */
  readonly onEnd: (outcome: 'stored' | 'kept' | 'failed', checksum?: number) => void;
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
   * `stamp` identifies the value that was read, so that a later value of another instance can be told from it. With a
   * copy, the result is `unchanged` if the tier still holds the entry that was copied: a few bytes are read instead of
   * the whole entry.
   */
  get(key: string, copy?: SharedCopy): TierRead | Promise<TierRead>;
  /** Never rejects; an entry that cannot be deleted expires in its time. */
  delete(key: string): Promise<void>;
  /** Returns whether the store is under way; only then `onEnd` is called. */
  set(entry: Entry, store?: SharedStore): boolean;
}
