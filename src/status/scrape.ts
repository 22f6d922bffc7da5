import { type MetricSample, Samples } from '../telemetry/samples.ts';

/** The metrics as they were at one instant. */
export class Scrape extends Samples {
  /** Monotonic milliseconds. */
  readonly at: number;

  constructor(samples: readonly MetricSample[], at: number) {
    super(samples);
    this.at = at;
  }
}

/**
 * A quantile (0 to 1) of what a histogram counted between two scrapes, in its own unit; `undefined` when it counted
 * nothing. Linear within a bucket, as Prometheus' `histogram_quantile` is.
 */
export function quantileBetween(before: Scrape, after: Scrape, name: string, quantile: number): number | undefined {
  const bucket = `${name}_bucket`;
  const buckets = after
    .valuesOf(bucket, 'le')
    .map((le) => ({
      upTo: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le),
      count: after.sum(bucket, { le }) - before.sum(bucket, { le }),
    }))
    .sort((a, b) => a.upTo - b.upTo);
  const total = buckets.at(-1)?.count ?? 0;
  if (total <= 0) return undefined;
  const rank = quantile * total;
  let [from, below] = [0, 0];
  for (const { upTo, count } of buckets) {
    if (count >= rank && count > below) {
      return upTo === Number.POSITIVE_INFINITY ? from : from + ((upTo - from) * (rank - below)) / (count - below);
    }
    [from, below] = [upTo, count];
  }
  return undefined;
}
