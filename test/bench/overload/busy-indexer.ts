import { type IndexerProcess, launchIndexer, type ScopedFault } from '../../support/indexer-process.ts';
import { chainOptions, chainStart } from './calls.ts';

/** An indexer, and when its chain began, epoch ms. */
export interface BusyIndexer extends IndexerProcess {
  readonly chainStartAt: number;
}

/** Starts an indexer of 20 workers or so many, first come first served, and what befalls some requests there. */
export async function startBusyIndexer(serviceMs: number, count = 20, fault?: ScopedFault): Promise<BusyIndexer> {
  const startAt = chainStart();
  const faults = { workers: { count, serviceMs } };
  const indexer = await launchIndexer({ chain: chainOptions(startAt), faults, fault });
  return Object.assign(indexer, { chainStartAt: startAt });
}
