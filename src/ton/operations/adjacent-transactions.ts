import { z } from 'zod';
import type { JsonObject } from '../../json-object.ts';
import { type CanonicalRequest, flagHeader, pairs, parameterOf } from '../canonical-request.ts';
import { pointOfLists } from '../chain-point.ts';
import { completenessOfGrowingList } from '../completeness.ts';
import { finalityOfFinalRows } from '../final-rows.ts';
import { type Finality, isFinal, newestNowOf } from '../finality.ts';
import { NO_HASH } from '../hash.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { finalityOfLists } from '../lists.ts';
import { operation } from '../operation.ts';
import { direction, flag, hash } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z.object({ hash, direction, x_no_address_book: flag, 'x-no-address-book': flag }).transform(
  (given): CanonicalRequest => ({
    query: pairs({ hash: given.hash, direction: given.direction }),
    headers: flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
  }),
);

/** A transaction has at most one parent, so one final row answers `in` for ever. Children can always be added. */
function finalityOfAdjacent(
  transactions: readonly unknown[],
  request: CanonicalRequest,
): Finality<'adjacentFinal' | 'adjacentGrowing' | 'adjacentLive'> {
  const live = { rule: 'adjacentLive' } as const;
  if (!transactions.every(isFinal)) return live;
  if (parameterOf(request, 'direction') === 'in') {
    return transactions.length === 1 ? finalityOfFinalRows(transactions, 'adjacentFinal', 'adjacentGrowing') : live;
  }
  const newest = newestNowOf(transactions.map(({ now }) => now));
  if (newest.newestNow === undefined) return live;
  return { rule: 'adjacentGrowing', ...(hasChild(transactions, request) && newest) };
}

/**
 * True if the youngest of these rows is a child. The one parent is older than all children, so only a single row is
 * ambiguous: it is a child if the given transaction is the first of its trace, which has no parent.
 */
function hasChild([first, ...others]: readonly JsonObject[], request: CanonicalRequest): boolean {
  if (others.length > 0 || parameterOf(request, 'direction') === 'out') return true;
  return first?.['trace_id'] === parameterOf(request, 'hash');
}

/** The parent of a transaction (`direction=in`), its children (`out`), or both. */
export const adjacentTransactions = operation({
  name: 'adjacentTransactions',
  isAlwaysCached: true,
  summary: 'The parent of a transaction (direction=in), its children (out), or both',
  schema,
  finality: finalityOfLists({ transactions: finalityOfAdjacent }, 'empty'),
  lifetimeRules: (request) => [
    ...(parameterOf(request, 'direction') === 'in' ? (['adjacentFinal'] as const) : []),
    'adjacentGrowing',
    'adjacentLive',
    'empty',
  ],
  // A final answer contains the one parent, and gains no more rows.
  completeness: completenessOfGrowingList('transactions'),
  retention: WHILE_REPLICAS_LAG,
  chainPoint: pointOfLists('transactions'),
  tags: (request) => tagsOfParameters(request, { hash: 'hash' }),
  cheapQuery: [
    ['hash', NO_HASH],
    ['direction', 'in'],
  ],
});
