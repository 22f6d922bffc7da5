import { isObject, type JsonObject } from '../json-object.ts';
import { type CanonicalRequest, parameterOf } from './canonical-request.ts';
import type { AnswerCompleteness } from './completeness.ts';
import type { Evidence } from './evidence.ts';
import { readLt } from './lt.ts';
import { ownerOf, walletsOf } from './owner-keys.ts';

/** A longer list is never proven: each of its wallets is compared at each look-up. */
const MOST_WALLETS = 100;

/** A jetton wallet as an answer shows it. */
export interface WalletRow {
  /** Raw, in upper case, like its owner and its jetton. */
  readonly address: string;
  readonly owner: string;
  readonly jetton: string;
  /** Its newest transaction. */
  readonly lt: bigint;
  /** Set if that is the newest transaction of its account, which may be later than what shows the owner. */
  readonly isByState?: true;
  /** True if a list without zero balances certainly omits it. */
  readonly isZero: boolean;
}

/** The jetton wallets in a list; `undefined` if a row is none. */
export function walletRowsIn(list: unknown): readonly WalletRow[] | undefined {
  if (list === null) return [];
  if (!Array.isArray(list)) return undefined;
  const rows = list.map(walletRowOf);
  return rows.every((row) => row !== undefined) ? rows : undefined;
}

function walletRowOf(row: unknown): WalletRow | undefined {
  if (!isObject(row)) return undefined;
  const { address, owner, jetton, balance, mintless_info: mintless } = row;
  const lt = readLt(row['last_transaction_lt']);
  const isRow = typeof address === 'string' && typeof owner === 'string' && typeof jetton === 'string';
  if (!isRow || lt === undefined) return undefined;
  // A mintless jetton that is not claimed yet counts as balance.
  const isZero = balance === '0' && (mintless === undefined || mintless === null);
  return { address: address.toUpperCase(), owner: owner.toUpperCase(), jetton: jetton.toUpperCase(), lt, isZero };
}

/**
 * The wallets that a list of an owner's wallets shows. `undefined` for a list that is too long, or does not follow the
 * request.
 */
export function evidenceOfWallets(request: CanonicalRequest, body: JsonObject): Evidence | undefined {
  const rows = walletRowsIn(body['jetton_wallets']);
  const owner = parameterOf(request, 'owner_address') ?? '';
  const jetton = parameterOf(request, 'jetton_address');
  if (rows === undefined || rows.length > MOST_WALLETS) return undefined;
  if (rows.some((row) => row.owner !== owner || (jetton !== undefined && row.jetton !== jetton))) return undefined;
  const wallets = new Map(rows.map(({ address, lt }) => [address, lt]));
  if (wallets.size < rows.length) return undefined;
  return {
    kind: 'wallets',
    accounts: [walletsOf(owner), ...rows.map(({ address }) => ownerOf(address))],
    hasClaims: hasMintless(body['jetton_wallets']),
    owner,
    jetton,
    omitsZero: parameterOf(request, 'exclude_zero_balance') === 'true',
    wallets,
  };
}

/** How much of a mintless jetton is claimed changes with the rows of other wallets. */
function hasMintless(list: unknown): boolean {
  return Array.isArray(list) && list.some((row) => isObject(row) && (row['mintless_info'] ?? null) !== null);
}

/**
 * A list is older only if it shows a wallet at an earlier transaction, and none at a later one. A missing wallet may be
 * deleted, or without balance.
 */
export function completenessOfWallets(list: unknown): AnswerCompleteness {
  const states = walletRowsIn(list)?.map(({ address, lt }) => [address, lt] as const);
  return { rank: 1, hashes: [], tentativeHashes: [], states };
}
