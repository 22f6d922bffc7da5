import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal, readWrappedInt32 } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderBlock, renderTransactions } from '../render-transaction.ts';

/** The masterchain block and its shard blocks, or in the specification's form its transactions. */
function answer(question: SimulatorQuestion): object {
  const { traits, query } = question;
  const seqno =
    traits.seqno === 'byItself' ? readWrappedInt32(query.first('seqno') ?? '') : (question.integer('seqno') ?? 0);
  const page = question.page();
  const sort = traits.sorts ? question.scalar('sort')?.toLowerCase() : undefined;
  // The error itself is a 422, but the indexer turns every error of building the statement into a 500.
  if (sort !== undefined && !['asc', 'a', 'desc', 'd'].includes(sort))
    throw new IndexerRefusal(500, 'wrong value for sort parameter');
  const blockSet = question.chain.block(seqno, question.databaseAt);
  const { blocks, transactions } = blockSet ?? { blocks: [], transactions: [] };
  if (traits.shards === 'transactions')
    return renderTransactions(question.selectSome(transactions.slice(...page), 'blocks'), question);
  const sorted = sort?.startsWith('a') ? blocks.toReversed() : blocks;
  const rows = question.selectSome(sorted.slice(...page), 'blocks');
  return { blocks: rows.flatMap((block) => (blockSet === undefined ? [] : [renderBlock(block, blockSet)])) };
}

export const masterchainBlockShards = {
  name: 'masterchainBlockShards',
  answer,
  changes: (question) => [question.committedAt(question.integer('seqno') ?? 0)],
} as const satisfies SimulatedOperation;
