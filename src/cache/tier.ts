import type { Entry } from './entry.ts';

/**
 * The outcome of one look-up in one tier. `failed` is not `absent`: it says nothing about the key, so nothing may be
 * concluded from it but that this tier does not help now.
 */
export type TierRead =
  | { readonly state: 'found'; readonly entry: Entry }
  | { readonly state: 'absent' }
  | { readonly state: 'failed' };

/**
 * One place that keeps entries by their key. No method throws or rejects. An entry past its `usableUntil` is absent;
 * a stored entry whose key differs from the one asked for is absent.
 */
export interface Tier {
  get(key: string): TierRead | Promise<TierRead>;
  /** Keeps an entry until its `usableUntil` at most. Returns whether it was taken: a tier is bounded. */
  set(entry: Entry): boolean;
}
