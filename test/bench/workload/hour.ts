import { Chain } from '../../../src/simulator/chain.ts';

/** How long the workload that is generated lasts. */
export const HOUR_MS = 3_600_000;
/** What is run of it begins here: half an hour of the chain is its past. */
export const SLICE_AT_MS = HOUR_MS / 2;

const BLOCK_MS = 400;
/** Enough for an hour, so that nothing of it is below the history floor. */
const HISTORY_BLOCKS = HOUR_MS / BLOCK_MS + 300;

/** The chain of the hour, as it is when it has begun: the same in every process that knows when that was, epoch ms. */
export function chainOfHour(startAt: number): Chain {
  return new Chain({ startAt, seed: 13, blockMs: BLOCK_MS, historyBlocks: HISTORY_BLOCKS });
}
