import { hash } from 'node:crypto';

// The paths and queries of the loads. As with the real indexer, an answer of 2 KB is about a masterchain block, and larger
// ones are about transactions.

/** The kind of request: for answers of this size, of further operations or of those that are always cached. */
interface Wanted {
  readonly sizeKb: number;
  readonly further?: boolean;
}

/** The newest masterchain block of the fake indexer. All requested blocks are older. */
export const HEAD_SEQNO = 62_000_000;
/** Hits take seqnos from here upwards, misses from below here downwards. */
const FIRST_HIT_SEQNO = 61_000_000;
export const FIRST_MISS_SEQNO = FIRST_HIT_SEQNO - 1;

/** The path and query of one hit. The first byte of a hash, or the limit, stands for the size of the answer in KB. */
export function hitTarget(wanted: Wanted, number: number): string {
  return targetFor(wanted, String(FIRST_HIT_SEQNO + number), hash('sha256', `${number}`, 'hex').slice(2));
}

/** A path and query in which `{hex}` (62 digits) or `{seqno}` stands for a number that no other request has. */
export function missPattern(wanted: Wanted): string {
  return targetFor(wanted, '{seqno}', '{hex}');
}

function targetFor({ sizeKb, further }: Wanted, seqno: string, hex: string): string {
  if (further) {
    if (sizeKb <= 2) return `/api/v3/blocks?mc_seqno=${seqno}`;
    return `/api/v3/transactionsByMasterchainBlock?seqno=${seqno}&limit=${sizeKb}`;
  }
  if (sizeKb <= 2) return `/api/v3/masterchainBlockShards?seqno=${seqno}`;
  return `/api/v3/adjacentTransactions?hash=${sizeKb.toString(16).padStart(2, '0')}${hex}&direction=out`;
}
