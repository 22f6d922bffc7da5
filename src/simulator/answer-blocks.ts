import type { Round } from './chain.ts';
import { DIALECTS } from './dialect.ts';
import { type Question, Refusal } from './question.ts';
import { accountsIn, renderAddressBook } from './render-address-book.ts';
import { renderBlock } from './render-block.ts';
import { renderTransaction } from './render-transaction.ts';
import type { Transaction } from './trace.ts';

function renderTransactions(question: Question, transactions: readonly Transaction[]): object {
  return {
    transactions: transactions.map((transaction) => renderTransaction(transaction, 'finalized', question.dialect)),
    address_book: question.flag('X-No-Address-Book') ? {} : renderAddressBook(accountsIn(transactions)),
  };
}

function askedRound(question: Question): Round {
  const seqno = question.integer('seqno');
  if (seqno === undefined && question.dialect === 'spec') throw new Refusal(422, 'seqno should be specified');
  const round = question.chain.block(seqno ?? 0);
  if (round === undefined) throw new Refusal(404, 'blocks not found');
  return round;
}

function page<Row>(question: Question, rows: readonly Row[]): readonly Row[] {
  const { offset, end } = question.page();
  const asked = rows.slice(offset, end);
  if (asked.length === 0) throw new Refusal(404, 'blocks not found');
  return asked;
}

/** `GET masterchainBlockShards`: the blocks of a round, or in the specification's shape its transactions. */
export function answerShards(question: Question): object {
  question.page();
  const round = askedRound(question);
  const traits = DIALECTS[question.dialect];
  if (traits.shards === 'transactions') return renderTransactions(question, page(question, round.transactions));
  const blocks = traits.sorts && question.last('sort') === 'asc' ? round.blocks.toReversed() : round.blocks;
  return { blocks: page(question, blocks).map((block) => renderBlock(block, round)) };
}

/** `GET transactionsByMasterchainBlock`: nothing there is an empty list. */
export function answerRoundTransactions(question: Question): object {
  const { offset, end } = question.page();
  const round = question.chain.block(question.integer('seqno') ?? 0);
  return renderTransactions(question, round?.transactions.slice(offset, end) ?? []);
}

/** `GET adjacentTransactions`: the parent, the children up to now, or both. */
export function answerAdjacent(question: Question): object {
  const hash = question.canonicalHash('hash', question.last('hash') ?? '');
  const direction = question.last('direction');
  if (direction !== undefined && direction !== 'in' && direction !== 'out') {
    throw new Refusal(422, 'direction should be one of: in, out');
  }
  const parent = direction === 'out' ? undefined : question.chain.parent(hash);
  const children = direction === 'in' ? [] : question.chain.children(hash);
  const adjacent = parent === undefined ? children : [parent, ...children];
  if (adjacent.length === 0) throw new Refusal(404, 'adjacent transactions not found');
  return renderTransactions(question, adjacent);
}

/** `GET masterchainInfo`: the newest indexed masterchain block and the history floor. */
export function answerMasterchainInfo(question: Question): object {
  const blockOf = (seqno: number) => {
    const round = question.chain.block(seqno);
    const block = round?.blocks[0];
    if (round === undefined || block === undefined) throw new Refusal(404, 'masterchain blocks not found');
    return renderBlock(block, round);
  };
  return { last: blockOf(question.chain.headSeqno), first: blockOf(question.chain.floorSeqno) };
}
