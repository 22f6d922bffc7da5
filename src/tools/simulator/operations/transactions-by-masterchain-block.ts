import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal, readWrappedInt32 } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderTransactions } from '../render-transaction.ts';

function seqnoOf(question: SimulatorQuestion): number {
  const { traits, query } = question;
  return traits.seqno === 'byItself' ? readWrappedInt32(query.first('seqno') ?? '') : (question.integer('seqno') ?? 0);
}

/** A page of the transactions of a block by their logical times, the newest first by default. */
function answer(question: SimulatorQuestion): object {
  const page = question.page();
  const sort = question.sort();
  const seqno = seqnoOf(question);
  const blockSet = question.chain.block(seqno, question.databaseAt);
  if (blockSet === undefined) throw new IndexerRefusal(404, `masterchain block ${seqno} not found`);
  const sorted = sort === 'asc' ? blockSet.transactions : blockSet.transactions.toReversed();
  return renderTransactions(question.selectAll(sorted.slice(...page)), question);
}

export const transactionsByMasterchainBlock = {
  name: 'transactionsByMasterchainBlock',
  answer,
  changes: (question) => [question.committedAt(seqnoOf(question))],
} as const satisfies SimulatedOperation;
