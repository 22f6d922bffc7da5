import { type IndexerProcess, launchIndexer, type ScopedFault } from '../../support/indexer-process.ts';
import { chainOptions, chainStart } from './calls.ts';

/** An indexer, and the beginning of its chain, epoch ms. */
export interface BusyIndexer extends IndexerProcess {
  readonly chainStartAt: number;
}

/**
 * Starts an indexer with this many workers (default 20), first come first served, and with faults for some requests.
 */
export async function startBusyIndexer(serviceMs: number, count = 20, fault?: ScopedFault): Promise<BusyIndexer> {
  const startAt = chainStart();
  const faults = { workers: { count, serviceMs } };
  const indexer = await launchIndexer({ chain: chainOptions(startAt), faults, fault });
  return Object.assign(indexer, { chainStartAt: startAt });
}
