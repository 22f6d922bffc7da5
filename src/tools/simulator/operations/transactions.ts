import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderTransactions } from '../render-transaction.ts';
import type { Transaction } from '../trace.ts';

/** Transactions by their hashes, of accounts, of a masterchain block, or the newest; within the given bounds. */
function answer(question: SimulatorQuestion): object {
  const rows = found(question).filter((row) => question.isWithinBounds(row));
  return renderTransactions(question.sortedPage(question.selectAll(rows)), question);
}

/** The newest first; by hashes in the order of the hashes. */
function found(question: SimulatorQuestion): readonly Transaction[] {
  const { chain, databaseAt } = question;
  const hashes = question.hashFilter('hash');
  if (hashes !== undefined) return hashes.flatMap((hash) => chain.transaction(hash, databaseAt) ?? []);
  const addresses = question.addresses('account');
  if (addresses.length > 0) {
    const rows = [...new Set(addresses)].flatMap((address) => chain.history(address, databaseAt));
    return rows.sort((a, b) => b.lt - a.lt || (a.account.address < b.account.address ? -1 : 1));
  }
  const seqno = question.integer('mc_seqno');
  const blockSet = chain.block(seqno ?? chain.clock.seqnoBy(databaseAt), databaseAt);
  if (blockSet === undefined) throw new IndexerRefusal(404, `masterchain block ${seqno} not found`);
  return blockSet.transactions.toReversed();
}

/** The commits of the named transactions, and of all those of the accounts. */
function changes(question: SimulatorQuestion): readonly number[] {
  const { chain } = question;
  const named = question.hashes('hash').map((hash) => chain.transaction(hash)?.seqno ?? -1);
  const ofAccounts = question.addresses('account').flatMap((address) => chain.history(address));
  return [...named, ...ofAccounts.map(({ seqno }) => seqno)].map((seqno) => question.committedAt(seqno));
}

export const transactions = { name: 'transactions', answer, changes } as const satisfies SimulatedOperation;
