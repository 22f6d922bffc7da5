import type { MetricSample } from '../telemetry/metrics.ts';

type Labels = Readonly<Record<string, string>>;

/** The metrics as they were at one instant. */
export class Scrape {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly #samples = new Map<string, MetricSample[]>();

  constructor(samples: readonly MetricSample[], at: number) {
    this.at = at;
    for (const sample of samples) {
      const others = this.#samples.get(sample.name);
      if (others === undefined) this.#samples.set(sample.name, [sample]);
      else others.push(sample);
    }
  }

  /** All samples of a series. */
  of(name: string): readonly MetricSample[] {
    return this.#samples.get(`toncache_${name}`) ?? [];
  }

  /** The sum over the samples that have all of these labels; 0 where there are none. */
  sum(name: string, labels: Labels = {}): number {
    const wanted = Object.entries(labels);
    return this.of(name)
      .filter((sample) => wanted.every(([label, value]) => sample.labels[label] === value))
      .reduce((sum, { value }) => sum + value, 0);
  }

  /** The largest sample, 0 where there are none. */
  max(name: string): number {
    return Math.max(0, ...this.of(name).map(({ value }) => value));
  }

  /** The smallest sample, `undefined` where there are none. */
  min(name: string): number | undefined {
    const values = this.of(name).map(({ value }) => value);
    return values.length === 0 ? undefined : Math.min(...values);
  }
}

/**
 * A quantile (0 to 1) of what a histogram counted between two scrapes, in its own unit; `undefined` when it counted
 * nothing. Linear within a bucket, as Prometheus' `histogram_quantile` is.
 */
export function quantileBetween(before: Scrape, after: Scrape, name: string, quantile: number): number | undefined {
  const bounds = [...new Set(after.of(`${name}_bucket`).map(({ labels }) => String(labels['le'])))];
  const buckets = bounds
    .map((le) => ({
      upTo: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le),
      count: sumOfBucket(after, name, le) - sumOfBucket(before, name, le),
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

function sumOfBucket(scrape: Scrape, name: string, le: string): number {
  return scrape
    .of(`${name}_bucket`)
    .filter(({ labels }) => String(labels['le']) === le)
    .reduce((sum, { value }) => sum + value, 0);
}
