import type { Answer } from './asker.ts';
import { promiseOf } from './cache-headers.ts';
import { checkRepeat } from './check-repeat.ts';
import { examine } from './examine.ts';
import type { SampledTransaction } from './learn-chain.ts';
import type { Run } from './run.ts';

/** Parents and children of transactions that the indexer has: there, or absent as the indexer says it. */
export async function checkAdjacent(run: Run, transactions: readonly SampledTransaction[]): Promise<void> {
  for (const { hash } of transactions) {
    for (const direction of ['&direction=in', '&direction=out', '']) {
      const target = `adjacentTransactions?hash=${encodeURIComponent(hash)}${direction}`;
      const answered = await examine(run, {
        check: 'adjacent',
        operation: 'adjacentTransactions',
        target,
        statuses: [200, 404],
        problemsOf: (answer) => (direction === '&direction=in' ? [] : settledProblems(answer)),
      });
      await checkRepeat(run, answered);
    }
  }
}

/** Another child can always still come, so nobody may keep the list of them as if it were final. */
function settledProblems({ headers }: Answer): readonly string[] {
  return promiseOf(headers) === 'final' ? ['children are taken for final'] : [];
}
