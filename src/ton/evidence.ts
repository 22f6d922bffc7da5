import type { JsonObject } from '../json-object.ts';
import type { CanonicalRequest } from './canonical-request.ts';

/** A transaction that a block has shown, or a jetton wallet that a look-up of owners has shown. */
export interface ShownRow {
  /** Logical time. For an account that is no jetton wallet: of its newest transaction in the looked-up block. */
  readonly lt: bigint;
  /** Empty for a jetton wallet. */
  readonly hash: string;
  /** Unix seconds; 0 for a jetton wallet. */
  readonly now: number;
  /** Set if it was shown by a look-up of owners. */
  readonly wallet?: ShownWallet | undefined;
}

/** What a look-up of owners has shown about an account. */
export interface ShownWallet {
  readonly address: string;
  /** Raw, in upper case; `undefined` if the account is no jetton wallet. */
  readonly owner: string | undefined;
  readonly jetton: string | undefined;
  /** True if a list without zero balances omits it. */
  readonly isZero: boolean;
  /** As in `WalletRow`. */
  readonly isByState: boolean;
  /** False once a look-up has shown a later state of it: then it counts no more. */
  isNewest: boolean;
}

/** The transactions of its accounts that the body of an answer shows. Plain data: a worker may have read it. */
export type Evidence = {
  /** The accounts whose own rows the answer consists of: raw, in upper case. Or the keys of `owner-keys.ts`. */
  readonly accounts: readonly string[];
  /**
   * True if the body contains interfaces of code, or what is claimed of a mintless jetton: these change without a
   * transaction of the accounts, and sooner than names.
   */
  readonly hasClaims: boolean;
} & (StateEvidence | PageEvidence | TransfersEvidence | WalletsEvidence | MethodEvidence);

interface StateEvidence {
  readonly kind: 'state';
  /** The account's newest transaction in the state; 0 for an unknown account. */
  readonly lastLt: bigint;
}

/** Evidence in a page of an account's transactions. A row outside of its window is rightly not listed. */
interface PageEvidence {
  readonly kind: 'page';
  readonly hashes: ReadonlySet<string>;
  readonly window: PageWindow;
}

interface PageWindow {
  /** The first logical time in the window: that of the oldest row of a full page, or the requested one. */
  readonly fromLt: bigint;
  /** The first instant in the window, in unix seconds. */
  readonly fromNow: number;
}

/** Evidence in a page of transfers of jettons, by look-ups of owners. */
interface TransfersEvidence {
  readonly kind: 'transfers';
  readonly hashes: ReadonlySet<string>;
  readonly window: PageWindow;
  /**
   * The last row of a full page. Accounts of several shards are not in one order of logical times, so a row is below it
   * only if it is older by both.
   */
  readonly last: { readonly lt: bigint; readonly now: number } | undefined;
}

/** Evidence in a list of the jetton wallets of an owner, by look-ups of owners. */
interface WalletsEvidence {
  readonly kind: 'wallets';
  readonly owner: string;
  /** The only jetton that is listed, if the request names one. */
  readonly jetton: string | undefined;
  /** True if wallets with a balance of 0 are omitted. */
  readonly omitsZero: boolean;
  /** The newest transaction of each listed wallet, by address. */
  readonly wallets: ReadonlyMap<string, bigint>;
}

/** The result of a get-method: a function of the state of its account, which the body does not show. */
export interface MethodEvidence {
  readonly kind: 'method';
  readonly accounts: readonly [string];
  readonly method: string;
  /** True for an exit code other than 0: it is never proven, only compared. */
  readonly hasFailed: boolean;
}

/** How an operation reads the evidence in a 200; `undefined` if the body has none, so that it is never proven. */
export type ReadEvidence = (request: CanonicalRequest, body: JsonObject) => Evidence | undefined;

/** True if a body shows a row of one of its accounts, or rightly omits it. A result of a get-method shows none. */
export function showsRow(evidence: Evidence, row: ShownRow): boolean {
  switch (evidence.kind) {
    case 'state':
      return row.lt <= evidence.lastLt;
    case 'page':
      return isShownOrOutside(evidence, row);
    case 'transfers':
      return isShownOrOutside(evidence, row) || isBelow(evidence.last, row);
    case 'wallets':
      return showsWallet(evidence, row);
    case 'method':
      return false;
  }
}

function isShownOrOutside({ hashes, window }: PageEvidence | TransfersEvidence, { lt, hash, now }: ShownRow): boolean {
  return hashes.has(hash) || lt < window.fromLt || now < window.fromNow;
}

function isBelow(last: TransfersEvidence['last'], { lt, now }: ShownRow): boolean {
  return last !== undefined && lt < last.lt && now < last.now;
}

function showsWallet({ owner, jetton, omitsZero, wallets }: WalletsEvidence, { lt, wallet }: ShownRow): boolean {
  if (wallet?.isNewest !== true) return true;
  const shownLt = wallets.get(wallet.address);
  const belongs = wallet.owner === owner && (jetton === undefined || wallet.jetton === jetton);
  if (!belongs) return shownLt === undefined;
  return shownLt === undefined ? omitsZero && wallet.isZero : shownLt >= lt;
}
