import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderTransactions } from '../render-transaction.ts';
import type { Transaction } from '../trace.ts';

/** The transactions that have sent or received the messages, the newest first by default. */
function answer(question: SimulatorQuestion): object {
  const hashes = question.hashFilter('msg_hash') ?? [];
  if (hashes.length === 0)
    throw new IndexerRefusal(422, 'at least one of msg_hash, body_hash, opcode should be specified');
  const direction = question.scalar('direction');
  if (direction !== undefined && direction !== 'in' && direction !== 'out')
    throw new IndexerRefusal(422, 'failed to decode: schema: error converting value for "direction"');
  const sides = hashes.flatMap((hash) => [
    ...(direction === 'out' ? [] : receivers(question, hash)),
    ...(direction === 'in' ? [] : senders(question, hash)),
  ]);
  const rows = question.selectAll([...new Set(sides)].sort((a, b) => b.lt - a.lt));
  return renderTransactions(question.sortedPage(rows), question);
}

function receivers({ chain, databaseAt }: SimulatorQuestion, hash: string): readonly Transaction[] {
  return chain.receivers(hash, databaseAt);
}

/** A message is in the row of its sender before it is received. */
function senders({ chain, databaseAt }: SimulatorQuestion, hash: string): readonly Transaction[] {
  const parents = chain.planned(hash).flatMap(({ parent }) => parent ?? []);
  return parents.filter((parent) => chain.transaction(parent.hash, databaseAt) !== undefined);
}

function changes(question: SimulatorQuestion): readonly number[] {
  const receiving = question.hashes('msg_hash').flatMap((hash) => question.chain.planned(hash));
  return receiving.flatMap(({ seqno, parent }) => [seqno, parent?.seqno ?? -1]).map((at) => question.committedAt(at));
}

export const transactionsByMessage = {
  name: 'transactionsByMessage',
  answer,
  changes,
} as const satisfies SimulatedOperation;
