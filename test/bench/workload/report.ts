import { quantilesOf } from '../quantiles.ts';
import type { Verdict } from './judge.ts';
import type { Measured } from './run-server.ts';

export const HEAD = [
  'through',
  'requests',
  'at the indexer',
  'pending, adjacent, shards',
  'hit ratio',
  'p50, p99 ms',
  'lies',
  'failed',
  'stale p99 ms',
  'trace change seen p50, p95 ms',
  'block seen p50, p95 ms',
];

/** What one server's clients saw, as a row under {@link HEAD}. */
export function rowOf(name: string, { verdicts, upstream, tracesSeenMs, blocksSeenMs }: Measured): string[] {
  const count = (kind: Verdict['kind']) => String(verdicts.filter((verdict) => verdict.kind === kind).length);
  const took = quantiles(verdicts.map(({ answer }) => answer.receivedAt - answer.sentAt));
  const stale = quantiles(verdicts.map(({ staleMs }) => staleMs));
  const traces = quantiles(tracesSeenMs);
  const blocks = quantiles(blocksSeenMs);
  const [total = 0, ...operations] = upstream;
  return [
    name,
    String(verdicts.length),
    String(total),
    operations.join(', '),
    `${(100 * Math.max(0, 1 - total / verdicts.length)).toFixed(1)} %`,
    `${took(0.5)}, ${took(0.99)}`,
    count('lie'),
    count('failed'),
    stale(0.99),
    `${traces(0.5)}, ${traces(0.95)}`,
    `${blocks(0.5)}, ${blocks(0.95)}`,
  ];
}

/** '-' when there are no values. */
function quantiles(values: readonly number[]): (share: number) => string {
  const quantile = quantilesOf(values);
  return (share) => quantile(share)?.toFixed(0) ?? '-';
}
