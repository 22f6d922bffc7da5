import type { MonotonicMs } from '../time-units.ts';
/** One line of the metrics page. */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

/** The metrics of this process at one instant, asked for by their names without the prefix `toncache_`. */
export class Samples {
  readonly at: MonotonicMs;
  readonly #samples: ReadonlyMap<string, readonly MetricSample[]>;

  constructor(samples: readonly MetricSample[], at: number) {
    this.at = at;
    this.#samples = Map.groupBy(samples, ({ name }) => name);
  }

  /** All samples of a series that have all of these labels. */
  of(name: string, labels: Readonly<Record<string, string>> = {}): readonly MetricSample[] {
    const wanted = Object.entries(labels);
    const all = this.#samples.get(`toncache_${name}`) ?? [];
    return all.filter((sample) => wanted.every(([label, value]) => String(sample.labels[label]) === value));
  }

  /** The sum over these samples; 0 where there are none. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number {
    return this.of(name, labels).reduce((sum, { value }) => sum + value, 0);
  }
}

/**
 * A quantile (0 to 1) of what a histogram counted between two instants, in its own unit; `undefined` when it counted
 * nothing. Linear within a bucket, as Prometheus' `histogram_quantile` is.
 */
export function quantileBetween(before: Samples, after: Samples, name: string, quantile: number): number | undefined {
  const bucket = `${name}_bucket`;
  const bounds = [...new Set(after.of(bucket).map(({ labels }) => String(labels['le'])))];
  const buckets = bounds
    .map((le) => ({
      upTo: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le),
      count: after.sum(bucket, { le }) - before.sum(bucket, { le }),
    }))
    .sort((a, b) => a.upTo - b.upTo);
  const rank = quantile * (buckets.at(-1)?.count ?? 0);
  if (rank <= 0) return undefined;
  const index = buckets.findIndex(({ count }) => count >= rank);
  const { upTo: from, count: below } = buckets[index - 1] ?? { upTo: 0, count: 0 };
  const { upTo, count } = buckets[index] ?? { upTo: from, count: below };
  return Number.isFinite(upTo) ? from + ((upTo - from) * (rank - below)) / (count - below) : from;
}
