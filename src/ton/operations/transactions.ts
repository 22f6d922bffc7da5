import { z } from 'zod';
import { isObject } from '../../json-object.ts';
import { type CanonicalRequest, flagHeader, pairs, parameterOf } from '../canonical-request.ts';
import { pointOfLists } from '../chain-point.ts';
import { completenessOfGrowingList } from '../completeness.ts';
import { finalityOfFinalRows } from '../final-rows.ts';
import { type Finality, isFinal } from '../finality.ts';
import { NO_HASH } from '../hash.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { finalityOfLists } from '../lists.ts';
import { operation } from '../operation.ts';
import { flag, limit, notCached, onlyFirstPage, onlyHash, onlySort } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({
    hash: onlyHash,
    limit,
    offset: onlyFirstPage,
    sort: onlySort,
    x_no_address_book: flag,
    'x-no-address-book': flag,
  })
  .transform((given, ctx): CanonicalRequest => {
    const { hash, limit, sort } = given;
    if (hash === undefined) return notCached(ctx, 'accepted: hash');
    return {
      query: pairs({ hash, limit, sort }),
      headers: flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
    };
  });

/** A hash names one transaction at most. */
function finalityOfTransaction(
  transactions: readonly unknown[],
  request: CanonicalRequest,
): Finality<'byHashFinal' | 'byHashGrowing' | 'byHashLive'> {
  const hash = parameterOf(request, 'hash');
  const isAskedFor = transactions.length === 1 && isObject(transactions[0]) && transactions[0]['hash'] === hash;
  return isAskedFor && transactions.every(isFinal)
    ? finalityOfFinalRows(transactions, 'byHashFinal', 'byHashGrowing')
    : { answerClass: 'live', rule: 'byHashLive' };
}

/** A transaction by its hash. All other forms are lists that change. */
export const transactions = operation({
  name: 'transactions',
  summary: 'One transaction by its hash',
  schema,
  finality: finalityOfLists({ transactions: finalityOfTransaction }, 'empty'),
  lifetimeRules: () => ['byHashFinal', 'byHashGrowing', 'byHashLive', 'empty'],
  completeness: completenessOfGrowingList('transactions'),
  retention: WHILE_REPLICAS_LAG,
  chainPoint: pointOfLists('transactions'),
  tags: (request) => tagsOfParameters(request, { hash: 'hash' }),
  cheapQuery: [['hash', NO_HASH]],
});
