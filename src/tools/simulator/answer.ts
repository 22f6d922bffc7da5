import type { Account } from './accounts.ts';
import { IndexerRefusal, readWrappedInt32 } from './query.ts';
import type { IndexerOperation, Question } from './question.ts';
import { expandActionTypes, renderTrace } from './render-trace.ts';
import { accountsIn, renderAddressBook, renderBlock, renderMetadata, renderTransaction } from './render-transaction.ts';
import { type BlockSet, knownTransactions, type Trace, type Transaction } from './trace.ts';

/** An answer without the headers that every answer has. */
export interface SimulatedAnswer {
  readonly status: number;
  readonly body: string | Buffer;
  /** Further headers; they may replace `Content-Type: application/json`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer of an indexer of the question's dialect at the question's instant. Refusals are answers too. */
export function answer(question: Question): SimulatedAnswer {
  const { method, operation } = question;
  const methods = operation === 'message' ? ['POST'] : ['GET', 'HEAD'];
  try {
    if (!methods.includes(method)) throw new IndexerRefusal(405, 'Method Not Allowed');
    return { status: 200, body: JSON.stringify(ANSWERS[operation](question)) };
  } catch (error) {
    if (!(error instanceof IndexerRefusal)) throw error;
    return { status: error.status, body: JSON.stringify({ error: error.message }) };
  }
}

const ANSWERS: Readonly<Record<IndexerOperation, (question: Question) => object>> = {
  pendingTraces: answerPendingTraces,
  adjacentTransactions: answerAdjacent,
  masterchainBlockShards: answerShards,
  masterchainInfo: answerMasterchainInfo,
  transactionsByMasterchainBlock: answerBlockTransactions,
  message: ({ chain }) => ({ message_hash: chain.send() }),
  other: () => {
    throw new IndexerRefusal(404, 'Cannot find this path');
  },
};

/** Those of the account or, where none is given, of the external messages; in the chain's order. */
function askedTraces(question: Question): readonly Trace[] {
  const { chain, instant, databaseAt } = question;
  const account = question.address('account');
  const hashes = question.hashes('ext_msg_hash');
  if (account !== undefined) return chain.pendingTracesOf(account, instant, databaseAt);
  const pending = chain.pendingTraces(instant, databaseAt);
  if (hashes.length > 0) return pending.filter((trace) => hashes.includes(trace.externalHash));
  throw new IndexerRefusal(422, 'account or ext_msg_hash should be specified');
}

function answerPendingTraces(question: Question): object {
  const { dialect, instant, query, traits } = question;
  const asked = askedTraces(question);
  const version = question.header('X-Actions-Version');
  // An empty header counts as given. No value is split at its commas.
  const actionTypes = expandActionTypes(version === undefined ? query.values('supported_action_types') : [version]);
  const accounts = accountsIn(asked.flatMap((trace) => knownTransactions(trace, instant)));
  // The book and the metadata are read from the database, which is asked only where there are accounts to look up.
  const rendered = (flag: string, render: (accounts: readonly Account[]) => object) =>
    question.flag(flag) || accounts.length === 0 ? {} : render(question.selectAll(accounts));
  const traces = asked.map((trace) => renderTrace(trace, instant, actionTypes, dialect));
  return {
    traces: traces.length === 0 ? traits.nothingPending : traces,
    address_book: rendered('X-No-Address-Book', renderAddressBook),
    metadata: rendered('X-No-Metadata', renderMetadata),
  };
}

function answerAdjacent(question: Question): object {
  const { chain, databaseAt } = question;
  const hash = question.hash('hash');
  if (hash === undefined) throw new IndexerRefusal(question.traits.noHashStatus, 'adjacent transactions not found');
  // The indexer reads every other word as both, as if none were given.
  const direction = question.scalar('direction');
  const parent = direction === 'out' ? undefined : chain.parent(hash, databaseAt);
  const children = direction === 'in' ? [] : chain.children(hash, databaseAt);
  const adjacent = selectSome(
    question,
    parent === undefined ? children : [parent, ...children],
    'adjacent transactions',
  );
  return renderTransactions(adjacent, question);
}

/** The masterchain block and its shard blocks, or in the specification's shape its transactions. */
function answerShards(question: Question): object {
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
    return renderTransactions(selectSome(question, transactions.slice(...page), 'blocks'), question);
  const sorted = sort?.startsWith('a') ? blocks.toReversed() : blocks;
  const rows = selectSome(question, sorted.slice(...page), 'blocks');
  return { blocks: rows.flatMap((block) => (blockSet === undefined ? [] : [renderBlock(block, blockSet)])) };
}

/** An empty list where there are none. */
function answerBlockTransactions(question: Question): object {
  const page = question.page();
  const blockSet = question.chain.block(question.integer('seqno') ?? 0, question.databaseAt);
  return renderTransactions(question.selectAll(blockSet?.transactions.slice(...page) ?? []), question);
}

/** The newest indexed masterchain block and the history floor. */
function answerMasterchainInfo(question: Question): object {
  const { chain, databaseAt } = question;
  const blockOf = (seqno: number) => {
    const [blockSet] = question.selectAll<BlockSet | undefined>([chain.block(seqno)]);
    const block = blockSet?.blocks[0];
    if (blockSet === undefined || block === undefined) throw new IndexerRefusal(404, 'masterchain blocks not found');
    return renderBlock(block, blockSet);
  };
  const newest = Math.min(chain.headSeqno, chain.clock.seqnoBy(databaseAt));
  return { last: blockOf(newest), first: blockOf(chain.floorSeqno) };
}

/** Some rows, or a 404. The indexer does not notice a timeout, and takes the rows read until then for all rows. */
function selectSome<Row>(question: Question, rows: readonly Row[], what: string): readonly Row[] {
  const selected = question.select(rows);
  if (selected.length === 0) throw new IndexerRefusal(404, `${what} not found`);
  return selected;
}

/** A list of committed transactions with its address book, as several operations have it. */
function renderTransactions(transactions: readonly Transaction[], question: Question): object {
  return {
    transactions: transactions.map((transaction) => renderTransaction(transaction, 'finalized', question.dialect)),
    address_book: question.flag('X-No-Address-Book') ? {} : renderAddressBook(accountsIn(transactions)),
  };
}
