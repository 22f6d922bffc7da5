import type { SimulatedOperation } from '../operation.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderTransactions } from '../render-transaction.ts';

/** An empty list where there are none. */
function answer(question: SimulatorQuestion): object {
  const page = question.page();
  const blockSet = question.chain.block(question.integer('seqno') ?? 0, question.databaseAt);
  return renderTransactions(question.selectAll(blockSet?.transactions.slice(...page) ?? []), question);
}

export const transactionsByMasterchainBlock = {
  name: 'transactionsByMasterchainBlock',
  answer,
} as const satisfies SimulatedOperation;
