import type { BlockId } from './blocks.ts';
import { digest } from './seeded-random.ts';
import { type BlockSet, logicalTime } from './trace.ts';

/** A block of a block set as the indexer's JSON has it, as far as anybody reads it: about 0.7 KB, the same at every rendering. */
export function renderBlock(block: BlockId, blockSet: BlockSet): object {
  const name = `${block.workchain},${block.shard},${block.seqno}`;
  const transactions = blockSet.transactions.filter(({ block: { seqno } }) => seqno === block.seqno);
  return {
    ...block,
    root_hash: digest(name, 'root'),
    file_hash: digest(name, 'file'),
    global_id: -239,
    after_merge: false,
    before_split: false,
    after_split: false,
    key_block: false,
    gen_utime: String(Math.floor(blockSet.committedAt / 1000)),
    start_lt: String(logicalTime(blockSet.seqno, 0)),
    end_lt: String(logicalTime(blockSet.seqno + 1, 0)),
    master_ref_seqno: block.workchain === -1 ? 0 : blockSet.seqno - 1,
    rand_seed: digest(name, 'random'),
    created_by: digest(name, 'creator'),
    tx_count: transactions.length,
    masterchain_block_ref: blockSet.blocks[0],
    prev_blocks: [{ ...block, seqno: block.seqno - 1 }],
  };
}
