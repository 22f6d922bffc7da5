import { Chain } from '../../../src/tools/simulator/chain.ts';
import { type IndexerProcess, launchIndexer } from '../../support/indexer-process.ts';

/** Length of the generated workload. */
export const HOUR_MS = 3_600_000;
/** The beginning of the played slice. The half hour before it is history that clients request too. */
export const SLICE_AT_MS = HOUR_MS / 2;

const BLOCK_MS = 400;
/** The batch window of the real classifier. */
const CLASSIFIER_MS = 100;
/** More than an hour, so that no block of the hour is below the history floor. */
const HISTORY_BLOCKS = HOUR_MS / BLOCK_MS + 300;
const LATENCY_MS = 20;

const CHAIN = { seed: 13, blockMs: BLOCK_MS, historyBlocks: HISTORY_BLOCKS, classifierDelayMs: CLASSIFIER_MS };

/** The chain at the beginning of the hour (epoch ms). Every process with the same instant has the same chain. */
export function chainOfHour(startAt: number): Chain {
  return new Chain({ startAt, ...CHAIN });
}

/** Starts the simulated indexer with the chain of the hour. */
export function startIndexerOfHour(startAt: number): Promise<IndexerProcess> {
  const faults = { latencyMs: LATENCY_MS, jitterMs: LATENCY_MS };
  return launchIndexer({ chain: { startAt, ...CHAIN }, faults });
}
