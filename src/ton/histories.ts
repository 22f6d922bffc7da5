/**
 * Indexers prune at different times: histories that differ by at most this number of blocks, some minutes, count as
 * equal.
 */
const SAME_BLOCKS = 1000;

/**
 * The indexers whose history is shorter than that of another one, by the first masterchain block of each. Such an
 * indexer answers 404 or an empty list for older data, so the answer for a hash depends on the indexer.
 */
export function shorterHistories<Indexer>(firstBlocks: ReadonlyMap<Indexer, number>): Map<Indexer, number> {
  const oldest = Math.min(...firstBlocks.values());
  return new Map([...firstBlocks].filter(([, first]) => first - oldest > SAME_BLOCKS));
}

/** The operator's text about an indexer whose history is shorter than that of another one. */
export function shorterHistoryText(indexer: string, first: number): string {
  return `${indexer}'s history begins at block ${first}: give all indexers the same history`;
}
