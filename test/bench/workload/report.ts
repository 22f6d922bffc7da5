import { markdownTable } from '../markdown-table.ts';
import type { Counts } from './indexer.ts';
import type { Verdict } from './judge.ts';

/** One mode, as it was measured. */
export interface Row {
  readonly mode: string;
  readonly requests: number;
  /** Requests that reached the indexer. */
  readonly upstream: Counts;
  readonly lies: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The 99th percentile of `Verdict.staleMs`. */
  readonly staleP99Ms: number;
  /** See `sightsOf`: changes of pending traces, and new masterchain blocks. */
  readonly traceSeen: Quantiles;
  readonly blockSeen: Quantiles;
}

/** Undefined when there were no values. */
export interface Quantiles {
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
}

/** Sums up the verdicts of a mode. */
export function rowOf(
  mode: string,
  verdicts: readonly Verdict[],
  upstream: Counts,
  seen: { readonly traces: readonly number[]; readonly blocks: readonly number[] },
): Row {
  const count = (kind: Verdict['kind']) => verdicts.filter((verdict) => verdict.kind === kind).length;
  const took = quantile(verdicts.map(({ answer }) => answer.receivedAt - answer.sentAt));
  const stale = quantile(verdicts.map(({ staleMs }) => staleMs));
  const quantiles = (values: readonly number[]): Quantiles => {
    const at = quantile(values);
    return { p50Ms: at(0.5), p95Ms: at(0.95) };
  };
  return {
    mode,
    requests: verdicts.length,
    upstream,
    lies: count('lie'),
    failed: count('failed'),
    p50Ms: took(0.5) ?? Number.NaN,
    p99Ms: took(0.99) ?? Number.NaN,
    staleP99Ms: stale(0.99) ?? Number.NaN,
    traceSeen: quantiles(seen.traces),
    blockSeen: quantiles(seen.blocks),
  };
}

/** One line for each mode. */
export function tableOfRows(rows: readonly Row[]): string {
  return markdownTable(
    [
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
    ],
    rows.map((row) => [
      row.mode,
      String(row.requests),
      String(row.upstream.total),
      `${row.upstream.pendingTraces}, ${row.upstream.adjacentTransactions}, ${row.upstream.masterchainBlockShards}`,
      `${(hitRatio(row) * 100).toFixed(1)} %`,
      `${row.p50Ms}, ${row.p99Ms}`,
      String(row.lies),
      String(row.failed),
      row.staleP99Ms.toFixed(0),
      shown(row.traceSeen),
      shown(row.blockSeen),
    ]),
  );
}

/** The share of client requests that did not reach the indexer. */
export function hitRatio({ requests, upstream }: Row): number {
  return Math.max(0, 1 - upstream.total / requests);
}

function shown({ p50Ms, p95Ms }: Quantiles): string {
  return `${p50Ms?.toFixed(0) ?? '-'}, ${p95Ms?.toFixed(0) ?? '-'}`;
}

function quantile(values: readonly number[]): (share: number) => number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return (share) => sorted[Math.floor(share * (sorted.length - 1))];
}
