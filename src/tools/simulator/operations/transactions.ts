import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderTransactions } from '../render-transaction.ts';
import type { Transaction } from '../trace.ts';

/** Transactions by their hashes, of a masterchain block, or the newest. */
function answer(question: SimulatorQuestion): object {
  return renderTransactions(question.sortedPage(question.selectAll(found(question))), question);
}

function found(question: SimulatorQuestion): readonly Transaction[] {
  const { chain, databaseAt } = question;
  const hashes = question.hashFilter('hash');
  if (hashes !== undefined) return hashes.flatMap((hash) => chain.transaction(hash, databaseAt) ?? []);
  const seqno = question.integer('mc_seqno');
  const blockSet = chain.block(seqno ?? chain.clock.seqnoBy(databaseAt), databaseAt);
  if (blockSet === undefined) throw new IndexerRefusal(404, `masterchain block ${seqno} not found`);
  return blockSet.transactions.toReversed();
}

export const transactions = {
  name: 'transactions',
  answer,
  changes: (question) =>
    question.hashes('hash').map((hash) => question.committedAt(question.chain.transaction(hash)?.seqno ?? -1)),
} as const satisfies SimulatedOperation;
