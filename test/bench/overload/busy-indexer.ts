import { startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { launch } from '../../support/launch.ts';
import { chainOf, chainStart } from './calls.ts';

/** Where the indexer listens, and when its chain began, epoch ms. */
interface Listening {
  readonly url: string;
  readonly chainStartAt: number;
}

const SLOW_MS = 4800;
/** More than any answer has: each is sent in one piece. */
const WHOLE_BYTES = 2 ** 30;

/** Starts an indexer of 20 workers, first come first served, in a process of its own, with what goes wrong there. */
export async function startBusyIndexer(serviceMs: number, fault?: string): Promise<Listening & AsyncDisposable> {
  const process = launch(new URL(import.meta.url), { args: [String(serviceMs), fault ?? ''] });
  const listening = await process.next((line) => line as Listening);
  return { ...listening, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
}

if (import.meta.main) {
  const indexer = await startIndexer({ chain: chainOf(chainStart()) });
  indexer.faults.workers = { count: 20, serviceMs: Number(process.argv[2]) };
  const scope = { operation: 'pendingTraces' } as const;
  if (process.argv[3] === 'hang') indexer.faults.inject({ kind: 'hang' }, scope);
  if (process.argv[3] === 'slow')
    indexer.faults.inject({ kind: 'slow', chunkBytes: WHOLE_BYTES, pauseMs: SLOW_MS }, scope);
  console.log(JSON.stringify({ url: indexer.url, chainStartAt: indexer.chain.clock.startAt } satisfies Listening));
}
