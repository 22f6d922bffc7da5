import type { Account } from './accounts.ts';

/** The name of a block. `shard` is 16 hexadecimal digits. */
export interface BlockId {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
}

/** The whole of a workchain that was never split, and of the masterchain. */
const WHOLE_SHARD = '8000000000000000';

// How the basechain is split, for as long as SPLIT_BLOCKS, in turn. A shard's prefix ends in its lowest 1 bit.
const SPLITS: readonly (readonly string[])[] = [['4', 'c'], [WHOLE_SHARD], ['4', 'a', 'e'], ['2', '6', 'a', 'e']].map(
  (split) => split.map((digits) => digits.padEnd(16, '0')),
);
const SPLIT_BLOCKS = 40;

function splitAt(seqno: number): readonly string[] {
  return SPLITS[Math.floor(seqno / SPLIT_BLOCKS) % SPLITS.length] ?? [WHOLE_SHARD];
}

/** The masterchain block itself. */
export function masterchainBlock(seqno: number): BlockId {
  return { workchain: -1, shard: WHOLE_SHARD, seqno };
}

/** The 1 to 4 shard blocks that a masterchain block commits, each with its own shard and seqno. */
export function shardBlocks(seqno: number): readonly BlockId[] {
  // Each shard has seqnos of its own, different from those of the masterchain and of other shards.
  return splitAt(seqno).map((shard) => ({
    workchain: 0,
    shard,
    seqno: seqno + 5_000_000 + Number.parseInt(shard.charAt(0), 16) * 10_000,
  }));
}

/** The block of a block set in which an account's transactions are. */
export function blockOf(account: Account, seqno: number): BlockId {
  if (account.workchain === -1) return masterchainBlock(seqno);
  const digit = account.hash.readUInt8(0) >> 4;
  const block = shardBlocks(seqno).find(({ shard }) => {
    // The lowest 1 bit of a shard's prefix marks its end: it holds the digits that far around the marker.
    const marker = Number.parseInt(shard.charAt(0), 16);
    const lowestBit = marker & -marker;
    return marker - lowestBit <= digit && digit < marker + lowestBit;
  });
  if (block === undefined) throw new Error(`no shard of masterchain block ${seqno} holds ${account.address}`);
  return block;
}
