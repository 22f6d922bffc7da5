import { z } from 'zod';
import { isObject } from '../../json-object.ts';
import { completenessOfAccountPage, evidenceOfAccountPage, finalityOfAccountPage } from '../account-page.ts';
import { type CanonicalRequest, flagHeader, pairs, parameterOf } from '../canonical-request.ts';
import { pointOfLists } from '../chain-point.ts';
import { completenessOfGrowingList } from '../completeness.ts';
import { finalityOfFinalRows } from '../final-rows.ts';
import { type Finality, isFinal } from '../finality.ts';
import { NO_HASH } from '../hash.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { ROWS } from '../lifetime-table.ts';
import { finalityOfLists, isAscending } from '../lists.ts';
import { operation } from '../operation.ts';
import {
  flag,
  limit,
  notCached,
  onlyAccount,
  onlyFirstPage,
  onlyHash,
  onlyLt,
  onlySeconds,
  onlySort,
} from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({
    hash: onlyHash,
    account: onlyAccount,
    start_lt: onlyLt,
    start_utime: onlySeconds,
    limit,
    offset: onlyFirstPage,
    sort: onlySort,
    x_no_address_book: flag,
    'x-no-address-book': flag,
  })
  .transform((given, ctx): CanonicalRequest => {
    const { hash, account, start_lt, start_utime, limit, sort } = given;
    const hasStart = start_lt !== undefined || start_utime !== undefined;
    if ((hash === undefined) === (account === undefined) || (hasStart && account === undefined)) {
      return notCached(ctx, 'accepted: hash, or account with or without start_lt and start_utime');
    }
    return {
      query: pairs({ hash, account, start_lt, start_utime, limit, sort }),
      headers: flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
    };
  });

/** A hash names at most one transaction. */
function finalityOfTransaction(
  transactions: readonly unknown[],
  request: CanonicalRequest,
): Finality<'byHashFinal' | 'byHashGrowing' | 'byHashLive'> {
  const hash = parameterOf(request, 'hash');
  const isAskedFor = transactions.length === 1 && isObject(transactions[0]) && transactions[0]['hash'] === hash;
  return isAskedFor && transactions.every(isFinal)
    ? finalityOfFinalRows(transactions, 'byHashFinal', 'byHashGrowing')
    : { rule: 'byHashLive' };
}

const finalityByHash = finalityOfLists({ transactions: finalityOfTransaction }, 'empty');
const completenessByHash = completenessOfGrowingList('transactions');

const isOfAccount = (request: CanonicalRequest): boolean => parameterOf(request, 'account') !== undefined;

/** A transaction by its hash, or the first page of those of one account. All other forms are lists that change. */
export const transactions = operation({
  name: 'transactions',
  summary: "One transaction by its hash, or the first page of one account's transactions",
  schema,
  finality: (body, request) => (isOfAccount(request) ? finalityOfAccountPage(body) : finalityByHash(body, request)),
  lifetimeRules: (request) =>
    isOfAccount(request) ? ['accountLive'] : ['byHashFinal', 'byHashGrowing', 'byHashLive', 'empty'],
  completeness: (finality, body, request) =>
    ROWS[finality.rule].isOfAccount
      ? completenessOfAccountPage(body, isAscending(request))
      : completenessByHash(finality, body, request),
  evidence: (request, body) => (isOfAccount(request) ? evidenceOfAccountPage(request, body) : undefined),
  retention: WHILE_REPLICAS_LAG,
  chainPoint: pointOfLists('transactions'),
  tags: (request) => tagsOfParameters(request, { hash: 'hash', account: 'account' }),
  cheapQuery: [['hash', NO_HASH]],
});
