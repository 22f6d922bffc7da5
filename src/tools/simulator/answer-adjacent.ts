import type { Question } from './question.ts';
import { IndexerRefusal } from './refusal.ts';
import { renderTransactions } from './render-transactions.ts';

/** `GET adjacentTransactions`: the parent, the children up to now, or both. */
export function answerAdjacent(question: Question): object {
  const hash = question.hash('hash');
  // The indexer reads every other word as both, as if none were given.
  const direction = question.scalar('direction');
  if (hash === undefined) {
    throw new IndexerRefusal(question.traits.noHashStatus, 'adjacent transactions not found');
  }
  const parent = direction === 'out' ? undefined : question.chain.parent(hash);
  const children = direction === 'in' ? [] : question.chain.children(hash);
  const known = parent === undefined ? children : [parent, ...children];
  // The indexer does not notice a timeout, and takes the rows read until then for all rows.
  const adjacent = question.select(known);
  if (adjacent.length === 0) throw new IndexerRefusal(404, 'adjacent transactions not found');
  return renderTransactions(adjacent, {
    dialect: question.dialect,
    noAddressBook: question.flag('X-No-Address-Book'),
  });
}
