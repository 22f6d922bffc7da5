import { examine, unkeepable } from './examine.ts';
import { newestSeqno, transactionsOf } from './learn-chain.ts';
import type { Run } from './run.ts';

/** What is pending for accounts that were busy just now, which can be nothing: never for clients to keep. */
export async function checkPending(run: Run, samples: number): Promise<void> {
  const transactions = await transactionsOf(run.indexer, await newestSeqno(run.indexer));
  const accounts = [...new Set(transactions.map(({ account }) => account))];
  for (const account of accounts.slice(-samples)) {
    await examine(run, {
      check: 'pending',
      operation: 'pendingTraces',
      target: `pendingTraces?account=${account}`,
      statuses: [200],
      problemsOf: unkeepable,
    });
  }
}
