import type { Question } from './question.ts';
import { Refusal } from './refusal.ts';
import { renderTransactions } from './render-transactions.ts';
import { select } from './stores.ts';

/** Exactly `in` and `out` select; the indexer takes every other word for both, as if it were not given. */
function askedDirection(question: Question): 'in' | 'out' | undefined {
  const word = question.scalar('direction');
  if (word === 'in' || word === 'out') return word;
  if (word !== undefined && question.traits.strict) throw new Refusal(422, 'direction should be one of: in, out');
  return undefined;
}

/** `GET adjacentTransactions`: the parent, the children up to now, or both. */
export function answerAdjacent(question: Question): object {
  const hash = question.hash('hash');
  const direction = askedDirection(question);
  if (hash === undefined) {
    throw new Refusal(question.traits.noHashStatus, 'adjacent transactions not found');
  }
  const parent = direction === 'out' ? undefined : question.chain.parent(hash);
  const children = direction === 'in' ? [] : question.chain.children(hash);
  const known = question.inAnyOrder(parent === undefined ? children : [parent, ...children]);
  // A timeout is not noticed: what was read until then is taken for all that there is.
  const adjacent = select(question.stores, known);
  if (adjacent.length === 0) throw new Refusal(404, 'adjacent transactions not found');
  return renderTransactions(adjacent, {
    dialect: question.dialect,
    noAddressBook: question.flag('X-No-Address-Book'),
  });
}
