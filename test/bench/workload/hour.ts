import { Chain } from '../../../src/tools/simulator/chain.ts';
import { startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { launch } from '../../support/launch.ts';

/** Length of the generated workload. */
export const HOUR_MS = 3_600_000;
/** Where the slice that is run begins. The half hour before it is history that clients ask for too. */
export const SLICE_AT_MS = HOUR_MS / 2;

const BLOCK_MS = 400;
/** The batch window of the real classifier. */
const CLASSIFIER_MS = 100;
/** More than an hour, so that no block of the hour is below the history floor. */
const HISTORY_BLOCKS = HOUR_MS / BLOCK_MS + 300;
const LATENCY_MS = 20;
const OPERATIONS = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'] as const;

/** The chain at the beginning of the hour (epoch ms). Every process that is given the same instant has the same chain. */
export function chainOfHour(startAt: number): Chain {
  const blocks = { blockMs: BLOCK_MS, historyBlocks: HISTORY_BLOCKS, classifierDelayMs: CLASSIFIER_MS };
  return new Chain({ startAt, seed: 13, ...blocks });
}

/** The simulated indexer with the chain of the hour, in a process of its own. */
export interface IndexerOfHour extends AsyncDisposable {
  readonly port: number;
  /** Requests since the start: all, and those for each of `pendingTraces`, `adjacentTransactions`, `masterchainBlockShards`. */
  counts(): Promise<readonly number[]>;
}

export async function startIndexerOfHour(startAt: number): Promise<IndexerOfHour> {
  const launched = launch(new URL(import.meta.url), { args: [String(startAt)] });
  return {
    port: await launched.next(Number),
    counts: async () => {
      launched.signal('SIGUSR2');
      return await launched.next((line) => line as readonly number[]);
    },
    [Symbol.asyncDispose]: () => launched[Symbol.asyncDispose](),
  };
}

if (import.meta.main) {
  const chain = chainOfHour(Number(process.argv[2]));
  chain.advanceTo(Date.now());
  const { faults, requests, port } = await startIndexer({ chain });
  faults.latencyMs = LATENCY_MS;
  faults.jitterMs = LATENCY_MS;
  process.on('SIGUSR2', () => {
    console.log(JSON.stringify([requests.total, ...OPERATIONS.map((operation) => requests.count(operation))]));
  });
  console.log(JSON.stringify(port));
}
