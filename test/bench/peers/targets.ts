import { sizedPath } from '../sized-calls.ts';

// The paths and queries of the loads. As with the real indexer, an answer of 2 KB is about a masterchain block, and larger
// ones are about transactions.

/** The newest masterchain block of the fake indexer. All requested blocks are older. */
export const HEAD_SEQNO = 62_000_000;
/** Hits take seqnos from here upwards, misses from below here downwards. */
const FIRST_HIT_SEQNO = 61_000_000;

/** The path and query of one hit. */
export function hitTarget(sizeKb: number, number: number): string {
  if (sizeKb > 2) return sizedPath(sizeKb, number);
  return `/api/v3/masterchainBlockShards?seqno=${FIRST_HIT_SEQNO + number}`;
}

/** A path and query in which `{hex}` (62 digits) or `{seqno}` stands for a number that no other request has. */
export function missPattern(sizeKb: number): string {
  if (sizeKb <= 2) return '/api/v3/masterchainBlockShards?seqno={seqno}';
  return `/api/v3/adjacentTransactions?hash=${sizeKb.toString(16).padStart(2, '0')}{hex}&direction=out`;
}

/** The highest seqno of a miss. */
export const FIRST_MISS_SEQNO = FIRST_HIT_SEQNO - 1;
