import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderTransactions } from '../render-transaction.ts';

function answer(question: SimulatorQuestion): object {
  const { chain, databaseAt } = question;
  const hash = question.hash('hash');
  if (hash === undefined) throw new IndexerRefusal(question.traits.noHashStatus, 'adjacent transactions not found');
  // The indexer reads any word except `in` and `out` as both directions, as if there were no `direction`.
  const direction = question.scalar('direction');
  const parent = direction === 'out' ? undefined : chain.parent(hash, databaseAt);
  const children =
    direction === 'in' ? [] : [...chain.children(hash, databaseAt), ...chain.childrenUnderWay(hash, databaseAt)];
  const adjacent = parent === undefined ? children : [parent, ...children];
  return renderTransactions(question.selectSome(adjacent, 'adjacent transactions'), question);
}

/** The commits of the transaction itself, of its parent and of its children, and the emulation of the children. */
function changes(question: SimulatorQuestion): readonly number[] {
  const transaction = question.chain.transaction(question.hash('hash') ?? '');
  if (transaction === undefined) return [];
  const { parent, children } = transaction;
  const adjacent = parent === undefined ? children : [parent, ...children];
  return [
    ...[transaction, ...adjacent].map(({ seqno }) => question.committedAt(seqno)),
    ...children.map(({ emulatedAt }) => emulatedAt),
  ];
}

export const adjacentTransactions = {
  name: 'adjacentTransactions',
  answer,
  changes,
} as const satisfies SimulatedOperation;
