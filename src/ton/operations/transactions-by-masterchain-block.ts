import { z } from 'zod';
import { finalityOfBlockTransactions } from '../block-set.ts';
import { type CanonicalRequest, flagHeader, pairs, parameterOf } from '../canonical-request.ts';
import { pointOfLists } from '../chain-point.ts';
import { completenessByClass } from '../completeness.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { finalityOfLists } from '../lists.ts';
import { operation } from '../operation.ts';
import { flag, limit, notCached, offset, onlySeqno, onlySort } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({ seqno: onlySeqno, limit, offset, sort: onlySort, x_no_address_book: flag, 'x-no-address-book': flag })
  .transform((given, ctx): CanonicalRequest => {
    const { seqno, limit, offset, sort } = given;
    if (seqno === undefined) return notCached(ctx, 'accepted: a seqno');
    return {
      query: pairs({ seqno, limit, offset, sort }),
      headers: flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
    };
  });

const seqnoOf = (request: CanonicalRequest): number => Number(parameterOf(request, 'seqno'));

/** A page of the transactions of a masterchain block and its shard blocks. */
export const transactionsByMasterchainBlock = operation({
  name: 'transactionsByMasterchainBlock',
  summary: 'A page of the transactions of a masterchain block and its shard blocks',
  schema,
  // The indexer looks for the block first, but an empty page does not show that it did.
  finality: finalityOfLists(
    { transactions: (rows, request) => finalityOfBlockTransactions(rows, seqnoOf(request)) },
    'emptyOfBlock',
  ),
  lifetimeRules: () => ['shardsFinalPage', 'shardsLive', 'emptyOfBlock'],
  completeness: completenessByClass,
  retention: WHILE_REPLICAS_LAG,
  chainPoint: pointOfLists('transactions'),
  tags: (request) => tagsOfParameters(request, { seqno: 'seqno' }),
  masterchainSeqno: seqnoOf,
  listsBlock: true,
  cheapQuery: [
    ['seqno', '1'],
    ['limit', '1'],
  ],
});
