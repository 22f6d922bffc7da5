import type { BlockId } from './blocks.ts';
import { digest } from './seeded-random.ts';
import type { BlockSet } from './trace.ts';

/** A block of a block set as the indexer's JSON has it, about 0.9 KB; the same at every rendering. */
export function renderBlock(block: BlockId, blockSet: BlockSet): object {
  const name = `${block.workchain},${block.shard},${block.seqno}`;
  const numbers = Buffer.from(digest(name, 'numbers'), 'base64');
  const transactions = blockSet.transactions.filter(({ block: { seqno } }) => seqno === block.seqno);
  return {
    ...block,
    root_hash: digest(name, 'root'),
    file_hash: digest(name, 'file'),
    global_id: -239,
    version: 0,
    after_merge: false,
    before_split: false,
    after_split: false,
    want_merge: numbers.readUInt8(0) < 128,
    want_split: false,
    key_block: false,
    vert_seqno_incr: false,
    flags: 1,
    gen_utime: String(Math.floor(blockSet.committedAt / 1000)),
    start_lt: String(blockSet.seqno * 1_000_000),
    end_lt: String(blockSet.seqno * 1_000_000 + transactions.length + 4),
    validator_list_hash_short: numbers.readInt32LE(1),
    gen_catchain_seqno: 600_000 + Math.floor(blockSet.seqno / 1000),
    min_ref_mc_seqno: blockSet.seqno - 5,
    prev_key_block_seqno: blockSet.seqno - (blockSet.seqno % 1000),
    vert_seqno: 1,
    master_ref_seqno: block.workchain === -1 ? 0 : blockSet.seqno - 1,
    rand_seed: digest(name, 'random'),
    created_by: digest(name, 'creator'),
    tx_count: transactions.length,
    masterchain_block_ref: blockSet.blocks[0],
    prev_blocks: [{ ...block, seqno: block.seqno - 1 }],
  };
}
