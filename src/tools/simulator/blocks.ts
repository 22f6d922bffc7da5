import type { Account } from './accounts.ts';

/** The name of a block. `shard` is 16 hexadecimal digits, in upper case. */
export interface BlockId {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
}

/** The shards of the basechain, each with the accounts whose hashes begin with the same two bits. */
const SHARDS = ['2000000000000000', '6000000000000000', 'A000000000000000', 'E000000000000000'];

/** The masterchain block itself. */
function masterchainBlock(seqno: number): BlockId {
  return { workchain: -1, shard: '8000000000000000', seqno };
}

/** The shard blocks that a masterchain block commits. Each shard has its own seqnos. */
function shardBlocks(seqno: number): readonly BlockId[] {
  return SHARDS.map((shard, place) => ({ workchain: 0, shard, seqno: seqno + 5_000_000 + place * 10_000 }));
}

/** The blocks of a block set, the masterchain block first. */
export function blocksOf(seqno: number): readonly BlockId[] {
  return [masterchainBlock(seqno), ...shardBlocks(seqno)];
}

/** The masterchain seqnos of the block sets that may contain a block with this own seqno. */
export function masterchainSeqnosOf(seqno: number): readonly number[] {
  return [seqno, ...SHARDS.map((_, place) => seqno - 5_000_000 - place * 10_000)];
}

/** The block of a block set that contains an account's transactions. */
export function blockOf({ workchain, hash }: Account, seqno: number): BlockId {
  const shardBlock = shardBlocks(seqno)[hash.readUInt8(0) >> 6];
  return workchain === -1 || shardBlock === undefined ? masterchainBlock(seqno) : shardBlock;
}

/** The chain's time: when each masterchain block is committed. Instants are epoch ms. */
export class BlockClock {
  readonly startAt: number;
  readonly blockMs: number;
  readonly firstSeqno: number;

  constructor({ startAt, blockMs, firstSeqno }: Pick<BlockClock, 'startAt' | 'blockMs' | 'firstSeqno'>) {
    this.startAt = startAt;
    this.blockMs = blockMs;
    this.firstSeqno = firstSeqno;
  }

  committedAt(seqno: number): number {
    return this.startAt + (seqno - this.firstSeqno) * this.blockMs;
  }

  /** The first masterchain block committed at that instant or later. */
  seqnoFrom(instant: number): number {
    return this.firstSeqno + Math.ceil((instant - this.startAt) / this.blockMs);
  }

  /** The newest masterchain block committed by that instant. */
  seqnoBy(instant: number): number {
    return this.firstSeqno + Math.floor((instant - this.startAt) / this.blockMs);
  }
}
