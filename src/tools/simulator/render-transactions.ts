import type { Dialect } from './dialect.ts';
import { accountsIn, renderAddressBook } from './render-address-book.ts';
import { renderTransaction } from './render-transaction.ts';
import type { Transaction } from './trace.ts';

/** A list of committed transactions with its address book, as several operations have it. */
export function renderTransactions(
  transactions: readonly Transaction[],
  { dialect, noAddressBook }: { readonly dialect: Dialect; readonly noAddressBook: boolean },
): object {
  return {
    transactions: transactions.map((transaction) => renderTransaction(transaction, 'finalized', dialect)),
    address_book: noAddressBook ? {} : renderAddressBook(accountsIn(transactions)),
  };
}
