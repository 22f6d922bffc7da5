import type { Entry } from './entry.ts';

/**
 * The outcome of one look-up in one tier. `failed` is not `absent`: it says nothing about the key, so nothing may be
 * concluded from it but that this tier does not help now.
 */
export type TierRead =
  | { readonly state: 'found'; readonly entry: Entry; readonly stamp?: Buffer }
  /** It holds the very copy that it was asked about. */
  | { readonly state: 'unchanged'; readonly stamp: Buffer }
  | { readonly state: 'absent'; readonly stamp?: Buffer }
  | { readonly state: 'failed' };

/**
 * One place that keeps entries by their key. No method throws or rejects. An entry past its `usableUntil` is absent;
 * a stored entry whose key differs from the one asked for is absent. What is kept gives way as `precedence.ts` says.
 */
export interface Tier {
  get(key: string): TierRead | Promise<TierRead>;
  /** Keeps an entry until its `usableUntil` at most. Returns whether it was taken: a tier is bounded. */
  set(entry: Entry): boolean;
}

/** How an entry is stored where other instances store too. */
export interface SharedStore {
  /** What others kept that was asked for up to here (epoch ms) is purged: this entry replaces it. */
  readonly purgedUntil: number;
  /**
   * Called once, when Redis has answered or has failed. `kept`: Redis holds another entry, which stays. With the checksum
   * of what was stored.
   */
  readonly onEnd: (outcome: 'stored' | 'kept' | 'failed', checksum?: number) => void;
}

/** A copy in memory of what a shared tier held. */
export interface SharedCopy {
  readonly askedAt: number;
  /** Of its bytes in the shared tier. */
  readonly checksum: number;
}

/** A tier that instances share. */
export interface SharedTier extends Tier {
  /**
   * `stamp` tells what is read from what another instance puts there later. With a copy, it is `unchanged` where the tier
   * still holds what that is a copy of: a few bytes instead of the whole entry.
   */
  get(key: string, copy?: SharedCopy): TierRead | Promise<TierRead>;
  /** Never rejects; what cannot be deleted expires. */
  delete(key: string): Promise<void>;
  /** Taken means under way: only then `onEnd` is called. */
  set(entry: Entry, store?: SharedStore): boolean;
}
