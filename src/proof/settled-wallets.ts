import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow } from '../ton/block-facts.ts';
import type { ShownWallet } from '../ton/evidence.ts';
import { isOrdinaryWallet } from '../ton/ordinary-wallets.ts';
import type { WalletRow } from '../ton/owned-wallets.ts';
import {
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
  readonly keys: Map<string, MonotonicMs[]>;
}

/**
 * What look-ups of owners have shown, as touches of the keys in `owner-keys.ts`. And which of these keys transactions in
 * answers may touch as soon as their blocks are settled.
 */
export class SettledWallets {
  readonly #dependencies: SettledWalletsDependencies;
  readonly #shown = new Map<number, ShownOfBlock>();

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
    const { touches } = this.#dependencies;
    const byAddress = new Map(rows.map((row) => [row.address, row]));
    const wallets = new Set<string>();
    const touched: BlockRow[] = [];
    for (const [address, transaction] of accounts) {
      const row = byAddress.get(address);
      const known = this.#known(address);
      const next = { lt: row?.lt ?? transaction.lt, isWallet: row !== undefined, isGone: transaction.isGone === true };
      if (next.isWallet || known.some(({ wallet }) => wallet?.owner !== undefined)) wallets.add(address);
      const precedence = precedenceOver(known[0], next);
      if (precedence === 'older') continue;
      if (precedence === 'later') for (const { wallet } of known) if (wallet !== undefined) wallet.isNewest = false;
      touched.push(...touchesOf(transaction, row, next.lt, known[0]?.wallet?.owner));
    }
    const transfers = transactions.filter(({ account }) => wallets.has(account));
    touches.add([
      ...touched,
      ...transfers.flatMap((row) => transferKeysOf(row).map((key) => ({ ...row, account: key }))),
    ]);
  }

  /** The results for an account that count: one, or some that contradict each other. */
  #known(address: string): readonly Touch[] {
    const known: Touch[] = [];
    for (const touch of this.#dependencies.touches.since(ownerOf(address), Number.NEGATIVE_INFINITY)) {
      if (touch.wallet?.isNewest !== true) break;
      known.push(touch);
    }
    return known;
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

  #add(seqno: number, keys: readonly string[]): void {
    const at = this.#dependencies.now();
    const ofBlock = this.#shown.get(seqno) ?? { since: at, keys: new Map<string, MonotonicMs[]>() };
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
  firstShown(keys: readonly string[], from: MonotonicMs): MonotonicMs {
    let first = Number.POSITIVE_INFINITY;
    for (const { keys: shown } of this.#shown.values()) {
      for (const key of [...keys, ANYTHING])
        first = Math.min(first, shown.get(key)?.find((instant) => instant >= from) ?? first);
    }
    return first;
  }
}

/**
 * Which of two results for an account shows the later state. Rounds are committed in any order, and a look-up may be
 * answered by a replica that has this block and lacks one before it. So the blocks do not decide, but the logical times
 * do: a row is only replaced by one of a later transaction. `unclear`: both count, so that an answer which contradicts
 * one of them is not proven.
 */
function precedenceOver(
  known: Touch | undefined,
  next: { readonly lt: bigint; readonly isWallet: boolean; readonly isGone: boolean },
): 'later' | 'older' | 'unclear' {
  if (known === undefined) return 'later';
  const wasWallet = known.wallet?.owner !== undefined;
  if (next.isWallet === wasWallet) return next.lt >= known.lt ? 'later' : 'older';
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
    isNewest: true,
  };
  const owners = new Set([row?.owner, ownerBefore].filter((owner) => owner !== undefined));
  const keys = [ownerOf(address), ...[...owners].map(walletsOf)];
  return keys.map((account) => ({ account, lt, hash: '', now: 0, seqno, wallet }));
}

/** The keys of a transaction that has received a transfer; none for any other. */
function transferKeysOf({ account, transfer }: BlockRow): readonly string[] {
  if (transfer === undefined) return [];
  const recipient = recipientIn(transfer.body);
  if (recipient === 'none') return [];
  const to = recipient === 'unreadable' ? TRANSFERS_TO_ANYBODY : transfersTo(recipient.account);
  return [to, transfersOf(account), ...(transfer.source === undefined ? [] : [transfersFrom(transfer.source)])];
}
