import type { Answered, HttpAnswer } from './asker.ts';
import { cacheHeaders, promiseOf } from './cache-headers.ts';
import { examine, type Run, unkeepable } from './examine.ts';
import { type ChainSample, lookBack, type SampledTransaction } from './learn-chain.ts';

/**
 * Checks that the block sets of indexed masterchain blocks are answered, and that the indexer is asked for each only
 * once.
 */
export async function checkBlocks(run: Run, { seqnos }: ChainSample): Promise<void> {
  for (const seqno of seqnos) {
    const answered = await examine(run, {
      check: 'masterchain block',
      operation: 'masterchainBlockShards',
      target: `masterchainBlockShards?seqno=${seqno}`,
      statuses: [200],
      problemsOf: ({ upstreamRequests }, rowCount) => [
        ...(rowCount === 0 ? ['a masterchain block of the past has no rows'] : []),
        ...(upstreamRequests === 1 ? [] : [`the first request cost ${upstreamRequests} at the indexer`]),
      ],
    });
    await checkRepeat(run, answered, `MasterchainBlockShards/?_=1&SEQNO=${seqno}`);
  }
}

/** Checks that parents and children of indexed transactions are answered, or absent in the indexer's own form. */
export async function checkAdjacent(run: Run, { transactions, searched }: ChainSample): Promise<void> {
  const found = { in: 0, out: 0 };
  for (const { hash } of transactions) {
    for (const direction of ['in', 'out', undefined] as const) {
      const query = direction === undefined ? '' : `&direction=${direction}`;
      const answered = await examine(run, {
        check: 'adjacent',
        operation: 'adjacentTransactions',
        target: `adjacentTransactions?hash=${encodeURIComponent(hash)}${query}`,
        statuses: [200, 404],
        problemsOf: (answer) => (direction === 'in' ? [] : settledProblems(answer)),
      });
      if (direction !== undefined && answered.status === 200) found[direction]++;
      await checkRepeat(run, answered);
    }
  }
  const among = `${transactions.length} transactions of ${searched}`;
  if (found.in === 0) run.report.notAsked('adjacent', 'parents', `no parent among ${among}`);
  if (found.out === 0) run.report.notAsked('adjacent', 'children', `no children among ${among}`);
}

/** Another child can always come, so clients must not keep a list of children as if it were final. */
function settledProblems({ headers }: HttpAnswer): readonly string[] {
  return promiseOf(headers) === 'final' ? ['children are taken for final'] : [];
}

/**
 * Checks pending traces of accounts that were busy just now. There may be none; clients must never keep such an answer.
 */
export async function checkPending(run: Run, samples: number): Promise<void> {
  const accountsOf = (found: readonly SampledTransaction[]) => [...new Set(found.map(({ account }) => account))];
  const { transactions, searched } = await lookBack(run.indexer, 0, (found) => accountsOf(found).length >= samples);
  const accounts = accountsOf(transactions).slice(-samples);
  if (accounts.length === 0) run.report.notAsked('pending', 'pendingTraces?account=', `no transaction in ${searched}`);
  for (const account of accounts) {
    await examine(run, {
      check: 'pending',
      operation: 'pendingTraces',
      target: `pendingTraces?account=${account}`,
      statuses: [200],
      problemsOf: unkeepable,
    });
  }
}

/**
 * Asks for a final answer again: it must be the same bytes, from the cache. Does nothing for other answers, which may
 * rightly cost another request.
 */
async function checkRepeat(run: Run, first: Answered, respelled = first.target): Promise<void> {
  if (first.status !== 200 || promiseOf(first.headers) !== 'final') return;
  const again = await run.toncache.ask(respelled);
  const { hit, status } = cacheHeaders(again.headers);
  const problems = [
    ...(hit ? [] : [`no hit the second time (${status})`]),
    ...(again.bytes.equals(first.bytes) ? [] : ['other bytes the second time']),
    ...(again.upstreamRequests === 0 ? [] : [`asking again cost ${again.upstreamRequests} requests at the indexer`]),
  ];
  run.report.add({ check: 'asked again', asked: respelled, problems, detail: status });
}
