import { isObject } from '../json-object.ts';
import { type CanonicalRequest, parameterOf } from './canonical-request.ts';
import { type Finality, isFinal } from './finality.ts';
import { isFull, isShort } from './lists.ts';

function isMasterchainBlock(block: unknown, seqno: number): boolean {
  return isObject(block) && block['workchain'] === -1 && block['seqno'] === seqno;
}

/**
 * The finality of a list of masterchain block `seqno` and the shard blocks that it commits. The indexer commits them in
 * one database transaction, so a list that contains the masterchain block itself and was not cut by a page is complete.
 * A cut list may contain this block too, since the query has no ORDER BY.
 */
export function finalityOfBlockSet(
  blocks: readonly unknown[],
  seqno: number,
  request: CanonicalRequest,
): Finality<'shardsFinal' | 'shardsFinalPage' | 'shardsLive'> {
  const isFirstPage = Number(parameterOf(request, 'offset') ?? 0) === 0;
  if (isFirstPage && isShort(blocks, request) && blocks.some((block) => isMasterchainBlock(block, seqno))) {
    return { rule: 'shardsFinal' };
  }
  const isOfBlock = (block: unknown) =>
    isMasterchainBlock(block, seqno) ||
    (isObject(block) && isObject(block['masterchain_block_ref']) && block['masterchain_block_ref']['seqno'] === seqno);
  return (!isFirstPage || isFull(blocks, request)) && blocks.every(isOfBlock)
    ? { rule: 'shardsFinalPage' }
    : { rule: 'shardsLive' };
}

/**
 * The finality of a list of the transactions of masterchain block `seqno`. Nothing in the list proves that no row is
 * missing (`limit`, `offset` or a failing database may cut it), so it is at most a final page.
 */
export function finalityOfBlockTransactions(
  transactions: readonly unknown[],
  seqno: number,
): Finality<'shardsFinalPage' | 'shardsLive'> {
  return transactions.every((row) => isFinal(row) && row['mc_block_seqno'] === seqno)
    ? { rule: 'shardsFinalPage' }
    : { rule: 'shardsLive' };
}
