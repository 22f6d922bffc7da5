import { sizedPath } from '../sized-calls.ts';

// What is asked for. Answers of 2 KB are those about masterchain blocks, larger ones those about transactions, as the
// indexer has them.

/** The newest masterchain block of the fake indexer; what is asked for is older. */
export const HEAD_SEQNO = 62_000_000;
/** Where the seqnos of hits begin; those of misses go down from below it. */
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

/** The highest seqno of a miss: the generator goes down from here. */
export const FIRST_MISS_SEQNO = FIRST_HIT_SEQNO - 1;
