/** Indexers prune at different times: histories that differ by so many blocks, some minutes, are the same. */
const SAME_BLOCKS = 1000;

/**
 * Those of several indexers whose history is shorter than that of another one, by the first masterchain block of each.
 * Each says 404, or an empty list, of what is older than its history, so for a hash it depends on who is asked.
 */
export function shorterHistories<Indexer>(firstBlocks: ReadonlyMap<Indexer, number>): Map<Indexer, number> {
  const oldest = Math.min(...firstBlocks.values());
  return new Map([...firstBlocks].filter(([, first]) => first - oldest > SAME_BLOCKS));
}

/** What operators read about an indexer whose history is shorter than that of another one. */
export function shorterHistoryText(indexer: string, first: number): string {
  return `${indexer}'s history begins at block ${first}: give all indexers the same history`;
}
