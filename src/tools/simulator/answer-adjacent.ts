import type { Question } from './question.ts';
import { IndexerRefusal } from './refusal.ts';
import { renderTransactions } from './render-transactions.ts';

/** Only `in` and `out` select. The indexer reads every other word as both, as if none were given. */
function askedDirection(question: Question): 'in' | 'out' | undefined {
  const word = question.scalar('direction');
  if (word === 'in' || word === 'out') return word;
  if (word !== undefined && question.traits.strict)
    throw new IndexerRefusal(422, 'direction should be one of: in, out');
  return undefined;
}

/** `GET adjacentTransactions`: the parent, the children up to now, or both. */
export function answerAdjacent(question: Question): object {
  const hash = question.hash('hash');
  const direction = askedDirection(question);
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
