import { askedPage, askedSort } from './page.ts';
import type { Question } from './question.ts';
import { readWrappedInt32 } from './read-values.ts';
import { IndexerRefusal } from './refusal.ts';
import { renderBlock } from './render-block.ts';
import { renderTransactions } from './render-transactions.ts';
import type { BlockSet } from './trace.ts';

function askedSeqno(question: Question): number {
  if (question.traits.seqno === 'byItself') return readWrappedInt32(question.query.first('seqno') ?? '');
  return question.integer('seqno') ?? 0;
}

/** `GET masterchainBlockShards`: the masterchain block and its shard blocks, or in the specification's shape its transactions. */
export function answerShards(question: Question): object {
  const seqno = askedSeqno(question);
  const { offset, end } = askedPage(question);
  const sort = askedSort(question);
  const blockSet = question.chain.block(seqno);
  const page = <Row>(rows: readonly Row[]) => {
    // The indexer does not notice a timeout, and takes the rows read until then for all rows.
    const asked = question.select(rows.slice(offset, end));
    if (asked.length === 0) throw new IndexerRefusal(404, 'blocks not found');
    return asked;
  };
  if (question.traits.shards === 'transactions') {
    const transactions = page(blockSet?.transactions ?? []);
    return renderTransactions(transactions, { dialect: question.dialect, noAddressBook: false });
  }
  const blocks = blockSet?.blocks ?? [];
  const sorted = sort === 'asc' ? blocks.toReversed() : sort === 'desc' ? blocks : blocks;
  const rows = page(sorted);
  return { blocks: blockSet === undefined ? [] : rows.map((block) => renderBlock(block, blockSet)) };
}

/** `GET transactionsByMasterchainBlock`: an empty list where there are none. */
export function answerBlockTransactions(question: Question): object {
  const { offset, end } = askedPage(question);
  const blockSet = question.chain.block(question.integer('seqno') ?? 0);
  const rows = question.selectAll(blockSet?.transactions.slice(offset, end) ?? []);
  return renderTransactions(rows, { dialect: question.dialect, noAddressBook: question.flag('X-No-Address-Book') });
}

/** `GET masterchainInfo`: the newest indexed masterchain block and the history floor. */
export function answerMasterchainInfo(question: Question): object {
  const { chain } = question;
  const blockOf = (seqno: number) => {
    const [blockSet] = question.selectAll<BlockSet | undefined>([chain.block(seqno)]);
    const block = blockSet?.blocks[0];
    if (blockSet === undefined || block === undefined) throw new IndexerRefusal(404, 'masterchain blocks not found');
    return renderBlock(block, blockSet);
  };
  return { last: blockOf(chain.headSeqno), first: blockOf(chain.floorSeqno) };
}
