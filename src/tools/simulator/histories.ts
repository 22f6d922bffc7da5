import type { Transaction } from './trace.ts';

/** The transactions of each account, in the order of their logical times. */
export class Histories {
  readonly #byAddress = new Map<string, Transaction[]>();
  /** The last transaction of each account, even if it is forgotten. */
  readonly #last = new Map<string, { readonly hash: string; readonly lt: number }>();

  /** Adds a transaction that is later than all others of its account, and links it to the previous one. */
  add(transaction: Transaction): void {
    const { account, hash, lt } = transaction;
    const previous = this.#last.get(account.address);
    if (previous !== undefined) transaction.previous = previous;
    this.#last.set(account.address, { hash, lt });
    const history = this.#byAddress.get(account.address) ?? [];
    history.push(transaction);
    this.#byAddress.set(account.address, history);
  }

  /** The remembered transactions of an account, the oldest first. */
  of(address: string): readonly Transaction[] {
    return this.#byAddress.get(address) ?? [];
  }

  /** Forgets the oldest transaction of an account. */
  forget({ account: { address } }: Transaction): void {
    const history = this.#byAddress.get(address);
    history?.shift();
    if (history?.length === 0) this.#byAddress.delete(address);
  }
}
