import { startIndexer } from '../../../src/demo/indexer.ts';
import { chainOf, chainStart } from './calls.ts';

// A process: an indexer of 20 workers that take 50 ms for a request, first come first served. It tells where it is, and
// then ten times a second how much it has to do.

/** The first line. */
export interface Listening {
  readonly url: string;
  /** Of its chain, epoch ms. */
  readonly startAt: number;
}

/** Every further line. */
export interface Sample {
  /** Epoch ms. */
  readonly at: number;
  /** The most requests that it had in hand since the line before. */
  readonly maxInHand: number;
  /** CPU time of the process since its start. */
  readonly cpuMs: number;
}

const WORKERS = { count: 20, serviceMs: 50 };
const BETWEEN_SAMPLES_MS = 100;

const startAt = chainStart();
const indexer = await startIndexer({ chain: chainOf(startAt) });
indexer.faults.workers = WORKERS;
tell({ url: indexer.url, startAt: indexer.chain.clock.startAt } satisfies Listening);

setInterval(() => {
  const { maxInHand } = indexer.requests;
  indexer.requests.reset();
  const { user, system } = process.cpuUsage();
  tell({ at: Date.now(), maxInHand, cpuMs: (user + system) / 1000 } satisfies Sample);
}, BETWEEN_SAMPLES_MS);

function tell(line: Listening | Sample): void {
  console.log(JSON.stringify(line));
}
