import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow } from '../ton/block-facts.ts';
import type { ShownWallet } from '../ton/evidence.ts';
import { isOrdinaryWallet } from '../ton/ordinary-wallets.ts';
import type { WalletRow } from '../ton/owned-wallets.ts';
import {
  type OwnerKey,
  ownerOf,
  TRANSFERS_TO_ANYBODY,
  transfersFrom,
  transfersOf,
  transfersTo,
  WALLETS_OF_ANYBODY,
  walletsOf,
} from '../ton/owner-keys.ts';
import { recipientIn } from '../ton/transfer-body.ts';
import type { Touch, Touches } from './touches.ts';

/** A transaction of a block that is not settled by then does not count any more: the follower gives such blocks up. */
const SHOWN_FOR_MS: Ms = 62_000;

export interface SettledWalletsDependencies {
  readonly touches: Pick<Touches, 'add' | 'since'>;
  readonly now: () => MonotonicMs;
}

/** Stands for all keys. */
const ANYTHING = 'anything';

/** What answers have shown of one block, by key, with the instants. */
interface ShownOfBlock {
  readonly since: MonotonicMs;
  readonly keys: Map<OwnerKey | typeof ANYTHING, MonotonicMs[]>;
}

/** The touches of transfers in an account that was no jetton wallet: they count if it turns out to have been deleted. */
interface WithheldTransfers {
  readonly at: MonotonicMs;
  readonly address: string;
  readonly transfers: readonly BlockRow[];
}

/**
 * What look-ups of owners have shown, as touches of the keys in `owner-keys.ts`. And which of these keys transactions in
 * answers may touch as soon as their blocks are settled.
 */
export class SettledWallets {
  readonly #dependencies: SettledWalletsDependencies;
  readonly #shown = new Map<number, ShownOfBlock>();
  /** The oldest first. */
  readonly #withheld: WithheldTransfers[] = [];

  constructor(dependencies: SettledWalletsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Takes the result of a look-up for some accounts of a block.
   * @param accounts The newest transaction in the block of each account.
   * @param rows The jetton wallets among the accounts.
   * @param transactions All transactions of the block.
   */
  settle(accounts: ReadonlyMap<string, BlockRow>, rows: readonly WalletRow[], transactions: readonly BlockRow[]): void {
    const { touches, now } = this.#dependencies;
    const at = now();
    while ((this.#withheld[0]?.at ?? at) < at - SHOWN_FOR_MS) this.#withheld.shift();
    const byAddress = new Map(rows.map((row) => [row.address, row]));
    const received = transactions.filter(({ transfer }) => transfer !== undefined);
    const deleted = new Set(transactions.flatMap(({ account, isGone }) => (isGone === true ? [account] : [])));
    const touched: BlockRow[] = [];
    for (const [address, transaction] of accounts) {
      const row = byAddress.get(address);
      const results = [...touches.since(ownerOf(address), Number.NEGATIVE_INFINITY)];
      const known = countingOf(results);
      const next = {
        lt: row?.lt ?? transaction.lt,
        owner: row?.owner,
        isWallet: row !== undefined,
        isByState: row?.isByState === true,
        isGone: transaction.isGone === true,
      };
      const precedence = precedenceOver(known[0], next);
      const wasWallet = next.isWallet || results.some(({ wallet }) => wallet?.owner !== undefined);
      const transfers = received.filter(({ account }) => account === address).flatMap(transferTouchesOf);
      // The row of a deleted wallet may have disappeared before the look-up for its last transfers.
      if (wasWallet || deleted.has(address) || precedence === 'older') touched.push(...transfers);
      else if (transfers.length > 0) this.#withheld.push({ at, address, transfers });
      if (deleted.has(address)) touched.push(...this.#withheldOf(address));
      if (precedence === 'older') continue;
      if (precedence === 'later') for (const { wallet } of known) if (wallet !== undefined) wallet.isNewest = false;
      touched.push(...touchesOf(transaction, row, next.lt, known[0]?.wallet?.owner));
    }
    touches.add(touched);
  }

  #withheldOf(address: string): readonly BlockRow[] {
    return this.#withheld.filter((each) => each.address === address).flatMap(({ transfers }) => transfers);
  }

  /** All accounts of this block are settled. */
  blockIsSettled(seqno: number): void {
    this.#shown.delete(seqno);
  }

  /** Takes final transactions that an answer shows, of blocks that are not settled. */
  shown(rows: readonly BlockRow[]): void {
    const at = this.#dependencies.now();
    for (const [seqno, { since }] of this.#shown) if (at - since > SHOWN_FOR_MS) this.#shown.delete(seqno);
    for (const row of rows) {
      if (!isOrdinaryWallet(row.codeHash)) this.#add(row.seqno, [WALLETS_OF_ANYBODY, ...transferKeysOf(row)]);
    }
  }

  /** Transactions of a block that is not settled are sent to a client: any of them. */
  servedBlock(seqno: number): void {
    this.#add(seqno, [ANYTHING]);
  }

  #add(seqno: number, keys: readonly (OwnerKey | typeof ANYTHING)[]): void {
    const at = this.#dependencies.now();
    const ofBlock = this.#shown.get(seqno) ?? { since: at, keys: new Map() };
    this.#shown.set(seqno, ofBlock);
    for (const key of keys) {
      const instants = ofBlock.keys.get(key) ?? [];
      if (instants.at(-1) !== at) instants.push(at);
      ofBlock.keys.set(key, instants);
    }
  }

  forgetShown(): void {
    this.#shown.clear();
  }

  /** The first instant, from the given one on, at which a transaction was shown that may touch one of these keys. */
  firstShown(keys: readonly OwnerKey[], from: MonotonicMs): MonotonicMs {
    let first = Number.POSITIVE_INFINITY;
    for (const { keys: shown } of this.#shown.values()) {
      for (const key of [...keys, ANYTHING] as const)
        first = Math.min(first, shown.get(key)?.find((instant) => instant >= from) ?? first);
    }
    return first;
  }
}

/** The results for an account that count, of all that are kept: one, or some that contradict each other. */
function countingOf(results: readonly Touch[]): readonly Touch[] {
  const older = results.findIndex(({ wallet }) => wallet?.isNewest !== true);
  return older < 0 ? results : results.slice(0, older);
}

/**
 * Which of two results for an account shows the later state. Rounds are committed in any order, and a look-up may be
 * answered by a replica that has this block and lacks one before it. So the blocks do not decide, but the logical times
 * do: a row is only replaced by one of a later transaction. `unclear`: both count, so that an answer which contradicts
 * one of them is not proven.
 */
function precedenceOver(
  known: Touch | undefined,
  next: Pick<ShownWallet, 'owner' | 'isByState'> & {
    readonly lt: bigint;
    readonly isWallet: boolean;
    readonly isGone: boolean;
  },
): 'later' | 'older' | 'unclear' {
  if (known === undefined) return 'later';
  const wasWallet = known.wallet?.owner !== undefined;
  if (next.isWallet === wasWallet) {
    const isLater = next.lt >= known.lt;
    // The account may have run once more after the transaction that shows this owner.
    const isByState = isLater ? next.isByState : known.wallet?.isByState === true;
    if (isByState && next.owner !== known.wallet?.owner) return 'unclear';
    return isLater ? 'later' : 'older';
  }
  if (next.isWallet) return next.lt > known.lt ? 'later' : 'unclear';
  if (next.lt < known.lt) return 'older';
  // The row of an account that still exists does not disappear.
  return next.isGone ? 'later' : 'unclear';
}

/** The touches of an account by a look-up. Its owner before must not list it any more. */
function touchesOf(
  { account: address, seqno }: BlockRow,
  row: WalletRow | undefined,
  lt: bigint,
  ownerBefore: string | undefined,
): BlockRow[] {
  const wallet: ShownWallet = {
    address,
    owner: row?.owner,
    jetton: row?.jetton,
    isZero: row?.isZero === true,
    isByState: row?.isByState === true,
    isNewest: true,
  };
  const owners = new Set([row?.owner, ownerBefore].filter((owner) => owner !== undefined));
  const keys = [ownerOf(address), ...[...owners].map(walletsOf)];
  return keys.map((account) => ({ account, lt, hash: '', now: 0, seqno, wallet }));
}

function transferTouchesOf(row: BlockRow): readonly BlockRow[] {
  const { lt, hash, now, seqno } = row;
  return transferKeysOf(row).map((account) => ({ account, lt, hash, now, seqno }));
}

/** The keys of a transaction that has received a transfer; none for any other. */
function transferKeysOf({ account, transfer }: BlockRow): readonly OwnerKey[] {
  if (transfer === undefined) return [];
  const recipient = recipientIn(transfer.body);
  if (recipient === 'none') return [];
  const from = [transfersOf(account), ...(transfer.source === undefined ? [] : [transfersFrom(transfer.source)])];
  if (recipient === 'nobody') return from;
  return [recipient === 'unreadable' ? TRANSFERS_TO_ANYBODY : transfersTo(recipient.account), ...from];
}
