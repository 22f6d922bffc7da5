import { hash } from 'node:crypto';

// The paths and queries of the loads. As with the real indexer, an answer of 2 KB is about a masterchain block, and larger
// ones are about transactions.

/** The newest masterchain block of the fake indexer. All requested blocks are older. */
export const HEAD_SEQNO = 62_000_000;
/** Hits take seqnos from here upwards, misses from below here downwards. */
const FIRST_HIT_SEQNO = 61_000_000;
/** The highest seqno of a miss. */
export const FIRST_MISS_SEQNO = FIRST_HIT_SEQNO - 1;

/** The path and query of one hit. The first byte of a hash says the size of the answer in KB. */
export function hitTarget(sizeKb: number, number: number): string {
  if (sizeKb <= 2) return `/api/v3/masterchainBlockShards?seqno=${FIRST_HIT_SEQNO + number}`;
  return adjacent(sizeKb, hash('sha256', `${number}`, 'hex').slice(2));
}

/** A path and query in which `{hex}` (62 digits) or `{seqno}` stands for a number that no other request has. */
export function missPattern(sizeKb: number): string {
  return sizeKb <= 2 ? '/api/v3/masterchainBlockShards?seqno={seqno}' : adjacent(sizeKb, '{hex}');
}

function adjacent(sizeKb: number, rest: string): string {
  return `/api/v3/adjacentTransactions?hash=${sizeKb.toString(16).padStart(2, '0')}${rest}&direction=out`;
}
