/**
 * The keys of what look-ups of owners show, next to accounts as the keys of transactions. A transaction of a jetton wallet
 * does not name its owner, so an answer about an owner is judged by these.
 */

type Tag = 'wallets of' | 'owner of' | 'transfers to' | 'transfers from' | 'transfers of';

/** A key of this file: what it stands for, and an account, which contains no blank. */
export type OwnerKey<T extends Tag = Tag> = `${T} ${string}`;

const keyOf =
  <T extends Tag>(tag: T) =>
  (account: string): OwnerKey<T> =>
    `${tag} ${account}`;

/** The jetton wallets that an account owns. */
export const walletsOf = keyOf('wallets of');

/** The owner of a jetton wallet. */
export const ownerOf = keyOf('owner of');

/** The transfers to an owner. */
export const transfersTo = keyOf('transfers to');

/** The transfers that an owner has sent. */
export const transfersFrom = keyOf('transfers from');

/** The transfers from a jetton wallet. */
export const transfersOf = keyOf('transfers of');

/** The transfers whose recipient could not be read: it may be anybody. */
export const TRANSFERS_TO_ANYBODY = transfersTo('anybody');

/** The jetton wallets of anybody: a transaction was shown whose account may belong to anybody by now. */
export const WALLETS_OF_ANYBODY = walletsOf('anybody');

/** True for a key of this file, and false for an account. */
export function isOwnerKey(key: string): key is OwnerKey {
  return key.includes(' ');
}

/**
 * The keys by which a transaction in an answer may change what these keys stand for, before its block is settled: the
 * owner of its account is not known yet.
 */
export function shownFor(keys: readonly OwnerKey[]): readonly OwnerKey[] {
  const ofWallets = keys.some((key) => key.startsWith(walletsOf('')));
  return ofWallets ? [WALLETS_OF_ANYBODY] : keys;
}
