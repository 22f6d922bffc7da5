import { checkRepeat } from './check-repeat.ts';
import { examine } from './examine.ts';
import type { Run } from './run.ts';

/** The blocks of rounds that the indexer has: there, and asked for only once. */
export async function checkBlocks(run: Run, seqnos: readonly number[]): Promise<void> {
  for (const seqno of seqnos) {
    const answered = await examine(run, {
      check: 'blocks of a round',
      operation: 'masterchainBlockShards',
      target: `masterchainBlockShards?seqno=${seqno}`,
      statuses: [200],
      problemsOf: ({ upstreamRequests }, rowCount) => [
        ...(rowCount === 0 ? ['a round of the past has no rows'] : []),
        ...(upstreamRequests === 1 ? [] : [`the first request cost ${upstreamRequests} at the indexer`]),
      ],
    });
    await checkRepeat(run, answered, `MasterchainBlockShards/?_=1&SEQNO=${seqno}`);
  }
}
