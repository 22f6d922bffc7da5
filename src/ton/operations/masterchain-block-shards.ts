import { z } from 'zod';
import { isObject } from '../../json-object.ts';
import { type CanonicalRequest, pairs, parameterOf } from '../canonical-request.ts';
import { pointOfLists } from '../chain-point.ts';
import { completenessByClass } from '../completeness.ts';
import { type Finality, isFinal } from '../finality.ts';
import { finalityOfLists, isFull, isShort } from '../lists.ts';
import { operation } from '../operation.ts';
import { limit, offset, seqno, sort } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({ seqno, limit, offset, sort })
  .transform((given): CanonicalRequest => ({ query: pairs(given), headers: [] }));

const seqnoOf = (request: CanonicalRequest): number => Number(parameterOf(request, 'seqno'));

/**
 * The indexer commits a masterchain block with its shard blocks in one database transaction, so a list that holds the
 * masterchain block N itself and was not cut by a page is complete. A cut list may hold that block too, since the query
 * has no ORDER BY.
 */
function finalityOfBlocks(blocks: readonly unknown[], request: CanonicalRequest): Finality {
  const seqno = seqnoOf(request);
  const isFirstPage = Number(parameterOf(request, 'offset') ?? 0) === 0;
  const isMasterchainBlock = (block: unknown) =>
    isObject(block) && block['workchain'] === -1 && block['seqno'] === seqno;
  if (isFirstPage && isShort(blocks, request) && blocks.some(isMasterchainBlock)) {
    return { answerClass: 'final', rule: 'shardsFinal' };
  }
  const isOfBlock = (block: unknown) =>
    isMasterchainBlock(block) ||
    (isObject(block) && isObject(block['masterchain_block_ref']) && block['masterchain_block_ref']['seqno'] === seqno);
  return (!isFirstPage || isFull(blocks, request)) && blocks.every(isOfBlock)
    ? { answerClass: 'final-page', rule: 'shardsFinalPage' }
    : { answerClass: 'live', rule: 'shardsLive' };
}

/**
 * The shape that the API's specification gives the same operation: the transactions of masterchain block N. Nothing in
 * it proves that no row is missing (`limit`, `offset` or a failing database may cut it), so it is at most a final page.
 */
function finalityOfBlockTransactions(transactions: readonly unknown[], request: CanonicalRequest): Finality {
  const seqno = seqnoOf(request);
  return transactions.every((row) => isFinal(row) && row['mc_block_seqno'] === seqno)
    ? { answerClass: 'final-page', rule: 'shardsFinalPage' }
    : { answerClass: 'live', rule: 'shardsLive' };
}

/** A masterchain block and the shard blocks that it commits; in the specification's shape their transactions. */
export const masterchainBlockShards = operation({
  name: 'masterchainBlockShards',
  schema,
  finality: finalityOfLists({ blocks: finalityOfBlocks, transactions: finalityOfBlockTransactions }),
  lifetimeRules: () => ['shardsFinal', 'shardsFinalPage', 'shardsLive', 'empty'],
  completeness: completenessByClass,
  chainPoint: pointOfLists('blocks', 'transactions'),
  tags: (request) => tagsOfParameters(request, { seqno: 'seqno' }),
  masterchainSeqno: seqnoOf,
  cheapQuery: [
    ['seqno', '1'],
    ['limit', '1'],
  ],
});
