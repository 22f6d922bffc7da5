import type { Account } from './accounts.ts';
import type { JettonRow, JettonTransfer } from './jetton-act.ts';
import type { Transaction } from './trace.ts';

/** When the indexer commits masterchain blocks. */
export interface Commits {
  /** The time when the indexer has a masterchain block, epoch ms. */
  indexedAt(seqno: number): number;
}

/** A row with the transaction that wrote it. */
export interface Written<Row> {
  readonly row: Row;
  readonly transaction: Transaction;
}

/** A transaction that made a row of a transfer. */
export type TransferTransaction = Transaction & { readonly effect: { readonly transfer: JettonTransfer } };

/** Lists of transactions by a key. */
class Lists<Item extends Transaction> {
  readonly #lists = new Map<string, Item[]>();

  add(key: string, item: Item): void {
    const list = this.#lists.get(key) ?? [];
    list.push(item);
    this.#lists.set(key, list);
  }

  of(key: string): readonly Item[] {
    return this.#lists.get(key) ?? [];
  }

  keys(): readonly string[] {
    return [...this.#lists.keys()];
  }

  /** Drops items from the front, but the last `keep` of these. */
  drop(key: string, seqno: number, keep: number): void {
    const list = this.#lists.get(key) ?? [];
    while ((list[keep]?.seqno ?? Number.POSITIVE_INFINITY) <= seqno) list.shift();
    if (list.length === 0) this.#lists.delete(key);
  }
}

/**
 * The tables of jetton wallets, masters and transfers, as of any instant. A row stays although the block that wrote it
 * is below the history floor; transfers leave with their block.
 */
export class JettonTables {
  readonly #commits: Commits;
  /** The transactions that wrote or deleted the row of a wallet, the oldest first. */
  readonly #ofWallet = new Lists();
  readonly #ofMaster = new Lists();
  readonly #transfers = new Lists<TransferTransaction>();
  /** The wallets that an owner or a jetton ever had. */
  readonly #wallets = new Map<string, Set<Account>>();
  /** In the order of their first rows. */
  readonly #places = new Map<Account, number>();

  constructor(commits: Commits) {
    this.#commits = commits;
  }

  /** All wallets, in the order of their first rows. */
  get wallets(): readonly Account[] {
    return [...this.#places.keys()];
  }

  /** The place of a wallet in that order. */
  placeOf(wallet: Account): number {
    return this.#places.get(wallet) ?? -1;
  }

  get masters(): readonly string[] {
    return this.#ofMaster.keys();
  }

  /** The wallets that an owner or a jetton ever had, or the wallet with this address. */
  walletsOf(address: string): readonly Account[] {
    return [...(this.#wallets.get(address) ?? [])];
  }

  /** The transactions that changed the row of a wallet or a master, past and known. */
  commitsOf(address: string): readonly Transaction[] {
    return [...this.#ofWallet.of(address), ...this.#ofMaster.of(address)];
  }

  /** The transfers from or to an owner, or from a wallet, past and known; the oldest first. */
  transfersOf(address: string): readonly TransferTransaction[] {
    return this.#transfers.of(address);
  }

  /** The transfers of all wallets. */
  get allTransfers(): readonly TransferTransaction[] {
    return this.wallets.flatMap(({ address }) => this.transfersOf(address));
  }

  /** Notes the effect of a transaction of the newest block. */
  add(transaction: Transaction): void {
    const { account, effect } = transaction;
    if (effect?.supply !== undefined) this.#ofMaster.add(account.address, transaction);
    if (effect?.row === undefined) return;
    this.#ofWallet.add(account.address, transaction);
    if (!this.#places.has(account)) this.#places.set(account, this.#places.size);
    for (const { address } of effect.row === null ? [] : [account, effect.row.owner, effect.row.master])
      this.#wallets.set(address, (this.#wallets.get(address) ?? new Set()).add(account));
    if (!isTransfer(transaction)) return;
    const { source, destination } = transaction.effect.transfer;
    for (const key of new Set([source.address, destination.address, account.address]))
      this.#transfers.add(key, transaction);
  }

  /** Forgets a transaction below the history floor. */
  forget(transaction: Transaction): void {
    const { account, effect, seqno } = transaction;
    if (effect === undefined) return;
    for (const rows of [this.#ofWallet, this.#ofMaster]) rows.drop(account.address, seqno, 1);
    if (!isTransfer(transaction)) return;
    const { source, destination } = transaction.effect.transfer;
    for (const key of [source.address, destination.address, account.address]) this.#transfers.drop(key, seqno, 0);
  }

  /**
   * The row of a wallet in the database at an instant, epoch ms. The upsert with the highest logical time wins,
   * whatever was committed last. @param keepsDeleted True for 1.2, which leaves the row of a deleted wallet.
   */
  walletAt({ address }: Account, instant: number, keepsDeleted: boolean): Written<JettonRow> | undefined {
    const commits = this.#ofWallet.of(address).filter((transaction) => this.#committedAt(transaction) <= instant);
    const transaction = commits.findLast(({ effect }, place) => {
      if (effect?.row !== null) return true;
      if (keepsDeleted) return false;
      // A deletion is an update, so it has no effect if it was committed before the row.
      return commits.slice(0, place).some((one) => one.effect?.row !== null && this.#isBefore(one, commits[place]));
    });
    const row = transaction?.effect?.row;
    return transaction === undefined || row === undefined || row === null ? undefined : { row, transaction };
  }

  /** The total supply of a jetton in the database at an instant, epoch ms. */
  masterAt(master: string, instant: number): Written<number> | undefined {
    const transaction = this.#ofMaster.of(master).findLast((one) => this.#committedAt(one) <= instant);
    const row = transaction?.effect?.supply;
    return transaction === undefined || row === undefined ? undefined : { row, transaction };
  }

  #isBefore(one: Transaction, other: Transaction | undefined): boolean {
    return other !== undefined && this.#committedAt(one) <= this.#committedAt(other);
  }

  #committedAt({ seqno }: Transaction): number {
    return this.#commits.indexedAt(seqno);
  }
}

function isTransfer(transaction: Transaction): transaction is TransferTransaction {
  return transaction.effect?.transfer !== undefined;
}
