import type { Account } from './accounts.ts';

/** The name of a block. `shard` is 16 hexadecimal digits, in upper case. */
export interface BlockId {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
}

/** The shards of the basechain, each with the accounts whose hashes begin with the same two bits. */
const SHARDS = ['2000000000000000', '6000000000000000', 'A000000000000000', 'E000000000000000'];

const MOST_SHARD_BLOCKS = 99;

/**
 * The number of shard blocks of a round. Some rounds have none. Others have so many that they are 10 or 100 with the
 * masterchain block: a list without `limit` may be cut there.
 */
function shardBlockCount(seqno: number): number {
  if (seqno % 50 === 21) return MOST_SHARD_BLOCKS;
  return { 4: 9, 7: 0 }[seqno % 10] ?? SHARDS.length;
}

/** The name of a shard by its place. Those after the first four have no transactions. */
function shardAt(place: number): string {
  return SHARDS[place] ?? (2 * place + 1).toString(16).padStart(2, '0').toUpperCase().padEnd(16, '0');
}

/** The masterchain block itself. */
function masterchainBlock(seqno: number): BlockId {
  return { workchain: -1, shard: '8000000000000000', seqno };
}

/** A shard's own seqnos are this much above those of the masterchain. */
function seqnosAhead(place: number): number {
  return 5_000_000 + place * 10_000;
}

/** A shard block that a masterchain block commits. Each shard has its own seqnos. */
function shardBlock(seqno: number, place: number): BlockId {
  return { workchain: 0, shard: shardAt(place), seqno: seqno + seqnosAhead(place) };
}

/** The blocks of a block set, the masterchain block first. */
export function blocksOf(seqno: number): readonly BlockId[] {
  const ofShards = Array.from({ length: shardBlockCount(seqno) }, (_, place) => shardBlock(seqno, place));
  return [masterchainBlock(seqno), ...ofShards];
}

/** The masterchain seqnos of the block sets that may contain a block with this own seqno. */
export function masterchainSeqnosOf(seqno: number): readonly number[] {
  return [seqno, ...Array.from({ length: MOST_SHARD_BLOCKS }, (_, place) => seqno - seqnosAhead(place))];
}

/** The block of a block set that contains an account's transactions: the masterchain block if it has no other. */
export function blockOf({ workchain, hash }: Account, seqno: number): BlockId {
  const place = hash.readUInt8(0) >> 6;
  return workchain === -1 || place >= shardBlockCount(seqno) ? masterchainBlock(seqno) : shardBlock(seqno, place);
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
