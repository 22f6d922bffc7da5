/**
 * The keys of what look-ups of owners show, next to accounts as the keys of transactions. A transaction of a jetton wallet
 * does not name its owner, so an answer about an owner is judged by these.
 */

/** The jetton wallets that an account owns. */
export const walletsOf = (owner: string): string => `wallets of ${owner}`;

/** The owner of a jetton wallet. */
export const ownerOf = (wallet: string): string => `owner of ${wallet}`;

/** The transfers to an owner. */
export const transfersTo = (owner: string): string => `transfers to ${owner}`;

/** The transfers that an owner has sent. */
export const transfersFrom = (owner: string): string => `transfers from ${owner}`;

/** The transfers from a jetton wallet. */
export const transfersOf = (wallet: string): string => `transfers of ${wallet}`;

/** The transfers whose recipient could not be read: it may be anybody. */
export const TRANSFERS_TO_ANYBODY = transfersTo('anybody');

/** The jetton wallets of anybody: a transaction was shown whose account may belong to anybody by now. */
export const WALLETS_OF_ANYBODY = walletsOf('anybody');

/** True for a key of this file, and false for an account. */
export function isOwnerKey(key: string): boolean {
  return key.includes(' ');
}

/**
 * The keys by which a transaction in an answer may change what these keys stand for, before its block is settled: the
 * owner of its account is not known yet.
 */
export function shownFor(keys: readonly string[]): readonly string[] {
  const ofWallets = keys.some((key) => key.startsWith('wallets of '));
  return ofWallets ? [WALLETS_OF_ANYBODY] : keys;
}
