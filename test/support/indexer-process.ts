import { CACHED_ALWAYS } from '../../src/ton/operation-names.ts';
import { Chain, type ChainOptions } from '../../src/tools/simulator/chain.ts';
import type { Fault, FaultScope, Faults } from '../../src/tools/simulator/faults.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { launch } from './launch.ts';

/** A fault, and the requests that it affects. */
export interface ScopedFault {
  readonly fault: Fault;
  readonly scope: FaultScope;
}

/** The options of the simulation. */
export interface IndexerOrder {
  readonly chain: ChainOptions;
  /** Default: a free one. */
  readonly port?: number;
  readonly faults?: Partial<Pick<Faults, 'latencyMs' | 'jitterMs' | 'workers'>>;
  /** A fault for some requests. */
  readonly fault?: ScopedFault | undefined;
}

/** A simulated indexer in a process of its own. */
export interface IndexerProcess extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Requests since the start: all, and those for each operation that is always cached. */
  counts(): Promise<readonly number[]>;
}

/** Starts an indexer; resolves when it listens. */
export async function launchIndexer(order: IndexerOrder): Promise<IndexerProcess> {
  const launched = launch(new URL(import.meta.url), { args: [JSON.stringify(order)] });
  const port = await launched.next(Number);
  return Object.assign(launched, {
    port,
    url: `http://127.0.0.1:${port}`,
    counts: async () => {
      launched.signal('SIGUSR2');
      return await launched.next((line) => line as readonly number[]);
    },
  });
}

if (import.meta.main) {
  const order: IndexerOrder = JSON.parse(process.argv[2] ?? '');
  const chain = new Chain(order.chain);
  chain.advanceTo(Date.now());
  const { faults, requests, port } = await startIndexer({ chain, port: order.port ?? 0 });
  Object.assign(faults, order.faults);
  if (order.fault !== undefined) faults.inject(order.fault.fault, order.fault.scope);
  process.on('SIGUSR2', () => {
    console.log(JSON.stringify([requests.total, ...CACHED_ALWAYS.map((operation) => requests.count(operation))]));
  });
  // Like the real one: requests under way are not waited for.
  process.on('SIGTERM', () => process.exit(0));
  console.log(JSON.stringify(port));
}
