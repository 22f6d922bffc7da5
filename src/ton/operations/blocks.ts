import { z } from 'zod';
import { isObject } from '../../json-object.ts';
import { finalityOfBlockSet } from '../block-set.ts';
import { type CanonicalRequest, pairs, parameterOf } from '../canonical-request.ts';
import { pointOfLists } from '../chain-point.ts';
import { completenessByClass } from '../completeness.ts';
import type { Finality } from '../finality.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { finalityOfLists } from '../lists.ts';
import { operation } from '../operation.ts';
import {
  limit,
  notCached,
  offset,
  onlyHash,
  onlySeqno,
  onlyShard,
  onlySort,
  onlyWorkchain,
  readShard,
} from '../parameters.ts';
import { tagOf, tagsOfParameters } from '../tags.ts';

/** The masterchain has no shards: its blocks are identified by their seqno alone. */
const MASTERCHAIN = '-1';

const ACCEPTED = 'mc_seqno, root_hash, file_hash, or workchain, shard and seqno (of workchain -1 without shard)';

const schema = z
  .object({
    workchain: onlyWorkchain,
    shard: onlyShard,
    seqno: onlySeqno,
    root_hash: onlyHash,
    file_hash: onlyHash,
    mc_seqno: onlySeqno,
    limit,
    offset,
    sort: onlySort,
  })
  .transform((given, ctx): CanonicalRequest => {
    const { workchain, shard, seqno, root_hash, file_hash, mc_seqno } = given;
    const parts = [workchain, shard, seqno].filter((part) => part !== undefined).length;
    // Workchain 0 without a shard is not one block: other shards reach this seqno later.
    const isBlock = parts === 3 || (parts === 2 && shard === undefined && workchain === MASTERCHAIN);
    const ways = [parts > 0, root_hash, file_hash, mc_seqno].filter((way) => way !== undefined && way !== false).length;
    if (ways !== 1 || (parts > 0 && !isBlock)) return notCached(ctx, `accepted: one of ${ACCEPTED}`);
    return { query: pairs(given), headers: [] };
  });

/**
 * The requested masterchain block, with its shard blocks or alone; `undefined` for a block of another workchain, or one
 * named by a hash.
 */
function masterchainSeqno(request: CanonicalRequest): number | undefined {
  const named =
    parameterOf(request, 'workchain') === MASTERCHAIN
      ? parameterOf(request, 'seqno')
      : parameterOf(request, 'mc_seqno');
  return named === undefined ? undefined : Number(named);
}

/** A single requested block never changes. */
function finalityOfBlocks(
  blocks: readonly unknown[],
  request: CanonicalRequest,
): Finality<'shardsFinal' | 'shardsFinalPage' | 'shardsLive'> {
  const setOf = parameterOf(request, 'mc_seqno');
  if (setOf !== undefined) return finalityOfBlockSet(blocks, Number(setOf), request);
  return blocks.length === 1 && isAsked(blocks[0], request) ? { rule: 'shardsFinal' } : { rule: 'shardsLive' };
}

function isAsked(block: unknown, { query }: CanonicalRequest): boolean {
  if (!isObject(block)) return false;
  const shown: Record<string, unknown> = {
    workchain: String(block['workchain']),
    shard: typeof block['shard'] === 'string' ? readShard(block['shard']) : undefined,
    seqno: String(block['seqno']),
    root_hash: block['root_hash'],
    file_hash: block['file_hash'],
  };
  return query.every(([name, value]) => !(name in shown) || shown[name] === value);
}

/** One block by its identity, or the blocks of a masterchain block. */
export const blocks = operation({
  name: 'blocks',
  summary: 'One block by its hash or number, or the blocks of a masterchain block',
  schema,
  finality: finalityOfLists({ blocks: finalityOfBlocks }, 'empty'),
  lifetimeRules: (request) =>
    parameterOf(request, 'mc_seqno') === undefined
      ? ['shardsFinal', 'shardsLive', 'empty']
      : ['shardsFinal', 'shardsFinalPage', 'shardsLive', 'empty'],
  completeness: completenessByClass,
  retention: WHILE_REPLICAS_LAG,
  chainPoint: pointOfLists('blocks'),
  tags: (request) => {
    const seqno = masterchainSeqno(request);
    const ofHashes = tagsOfParameters(request, { root_hash: 'hash', file_hash: 'hash' });
    return seqno === undefined ? ofHashes : [tagOf('seqno', seqno), ...ofHashes];
  },
  masterchainSeqno,
  cheapQuery: [
    ['mc_seqno', '1'],
    ['limit', '1'],
  ],
});
