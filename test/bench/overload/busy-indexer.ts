import { failed } from '../../../src/simulator/faults.ts';
import { startIndexer } from '../../../src/simulator/indexer.ts';
import { chainOf, chainStart } from './calls.ts';
import type { IndexerFault } from './scenarios.ts';

// A process: an indexer of 20 workers, first come first served. It tells where it is, and then ten times a second how much
// it has to do. Its arguments: how long a worker takes for a request, in milliseconds, and what goes wrong, if anything.

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

const WORKERS = { count: 20, serviceMs: Number(process.argv[2]) };
const SLOW_MS = 4800;
const BETWEEN_SAMPLES_MS = 100;
/** On the average; at even intervals of a service time a retry would meet the next one too often. */
const BETWEEN_RESETS_MS = 50;

const startAt = chainStart();
const indexer = await startIndexer({ chain: chainOf(startAt) });
indexer.faults.workers = WORKERS;
goWrong(process.argv[3] as IndexerFault | undefined);
report({ url: indexer.url, startAt: indexer.chain.clock.startAt } satisfies Listening);

setInterval(() => {
  const { maxInHand } = indexer.requests;
  indexer.requests.reset();
  const { user, system } = process.cpuUsage();
  report({ at: Date.now(), maxInHand, cpuMs: (user + system) / 1000 } satisfies Sample);
}, BETWEEN_SAMPLES_MS);

function goWrong(fault: IndexerFault | undefined): void {
  const scope = { operation: 'pendingTraces' } as const;
  if (fault === 'failing') indexer.faults.inject(failed(500), scope);
  if (fault === 'hang') indexer.faults.inject({ kind: 'hang' }, scope);
  if (fault === 'slow') indexer.faults.inject({ kind: 'late', ms: SLOW_MS }, scope);
  if (fault === 'resets') reset();

  function reset(): void {
    // One that befell nobody yet is not doubled.
    indexer.faults.clear();
    indexer.faults.inject({ kind: 'reset' }, { ...scope, times: 1 });
    setTimeout(reset, 2 * BETWEEN_RESETS_MS * Math.random());
  }
}

function report(line: Listening | Sample): void {
  console.log(JSON.stringify(line));
}
