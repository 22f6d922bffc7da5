import { z } from 'zod';
import { finalityOfBlockSet, finalityOfBlockTransactions } from '../block-set.ts';
import { type CanonicalRequest, pairs, parameterOf } from '../canonical-request.ts';
import { pointOfLists } from '../chain-point.ts';
import { completenessByClass } from '../completeness.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { finalityOfLists } from '../lists.ts';
import { operation } from '../operation.ts';
import { limit, offset, seqno, sort } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({ seqno, limit, offset, sort })
  .transform((given): CanonicalRequest => ({ query: pairs(given), headers: [] }));

const seqnoOf = (request: CanonicalRequest): number => Number(parameterOf(request, 'seqno'));

/**
 * A masterchain block and the shard blocks that it commits. By the API specification, the answer lists their
 * transactions instead.
 */
export const masterchainBlockShards = operation({
  name: 'masterchainBlockShards',
  isAlwaysCached: true,
  summary: 'A masterchain block and the shard blocks that it commits',
  schema,
  finality: finalityOfLists(
    {
      blocks: (blocks, request) => finalityOfBlockSet(blocks, seqnoOf(request), request),
      transactions: (transactions, request) => finalityOfBlockTransactions(transactions, seqnoOf(request)),
    },
    'empty',
  ),
  lifetimeRules: () => ['shardsFinal', 'shardsFinalPage', 'shardsLive', 'empty'],
  completeness: completenessByClass,
  retention: WHILE_REPLICAS_LAG,
  chainPoint: pointOfLists('blocks', 'transactions'),
  tags: (request) => tagsOfParameters(request, { seqno: 'seqno' }),
  masterchainSeqno: seqnoOf,
  cheapQuery: [
    ['seqno', '1'],
    ['limit', '1'],
  ],
});
