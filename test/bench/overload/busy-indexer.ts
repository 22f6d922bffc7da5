import type { Fault } from '../../../src/tools/simulator/faults.ts';
import { type IndexerProcess, launchIndexer } from '../../support/indexer-process.ts';
import { chainOptions, chainStart } from './calls.ts';

/** An indexer, and when its chain began, epoch ms. */
export interface BusyIndexer extends IndexerProcess {
  readonly chainStartAt: number;
}

/** Starts an indexer of 20 workers, first come first served, and what befalls `pendingTraces` there. */
export async function startBusyIndexer(serviceMs: number, pendingTraces?: Fault): Promise<BusyIndexer> {
  const startAt = chainStart();
  const faults = { workers: { count: 20, serviceMs } };
  const indexer = await launchIndexer({ chain: chainOptions(startAt), faults, pendingTraces });
  return Object.assign(indexer, { chainStartAt: startAt });
}
