import { Chain } from './chain.ts';
import { type Indexer, startIndexer } from './indexer.ts';

/** How long the chain takes for a masterchain block. */
export const BLOCK_MS = 400;

const PAST_BLOCKS = 150;
/** An hour of masterchain blocks: examples that people paste must stay available for long. */
const WINDOW_BLOCKS = 9000;
const LATENCY_MS = 20;

/** Starts an indexer as the demo has it: a chain with a past of a minute, and answers that take 20 to 40 ms. */
export async function simulateIndexer(): Promise<Indexer> {
  const startAt = Date.now() - PAST_BLOCKS * BLOCK_MS;
  const indexer = await startIndexer({
    chain: new Chain({ startAt, blockMs: BLOCK_MS, historyBlocks: WINDOW_BLOCKS }),
  });
  indexer.faults.latencyMs = LATENCY_MS;
  indexer.faults.jitterMs = LATENCY_MS;
  return indexer;
}
