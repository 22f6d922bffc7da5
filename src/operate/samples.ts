import { CLIENT_MISTAKES } from '../outcomes.ts';
import type { MonotonicMs } from '../time-units.ts';

/** One line of the metrics page. */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

const PREFIX = 'toncache_';

type Labels = Readonly<Record<string, string>>;

/** The metrics of this process at one instant, by name; those of toncache without its prefix. */
export class Samples {
  readonly at: MonotonicMs;
  readonly #samples: ReadonlyMap<string, readonly MetricSample[]>;

  constructor(samples: readonly MetricSample[], at: number) {
    this.at = at;
    this.#samples = Map.groupBy(samples, ({ name }) => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name));
  }

  /** All samples of a series that have all of these labels. */
  of(name: string, labels: Labels = {}): readonly MetricSample[] {
    const wanted = Object.entries(labels);
    const all = this.#samples.get(name) ?? [];
    return all.filter((sample) => wanted.every(([label, value]) => String(sample.labels[label]) === value));
  }

  /** The sum over these samples; 0 without any. */
  sum(name: string, labels?: Labels): number {
    return this.of(name, labels).reduce((sum, { value }) => sum + value, 0);
  }
}

/** The growth of the counters between two instants. */
export class Growth {
  readonly before: Samples;
  readonly after: Samples;
  readonly seconds: number;

  constructor(before: Samples, after: Samples) {
    this.before = before;
    this.after = after;
    this.seconds = Math.max(0.001, (after.at - before.at) / 1000);
  }

  of(name: string, labels: Labels = {}): number {
    return this.after.sum(name, labels) - this.before.sum(name, labels);
  }

  perSecond(name: string, labels: Labels = {}): number {
    return this.of(name, labels) / this.seconds;
  }

  /** Requests to indexers that got an answer: status 200, 404, or that of a client's mistake. */
  good(labels: Labels = {}): number {
    return [200, 404, ...CLIENT_MISTAKES].reduce(
      (sum, status) => sum + this.of('upstream_requests_total', { ...labels, result: String(status) }),
      0,
    );
  }

  /** The value of a label that grew most among the samples with all of these labels; empty if none grew. */
  most(name: string, label: string, isMeant: (value: string) => boolean = () => true, among: Labels = {}): string {
    const values = [...new Set(this.after.of(name, among).map(({ labels }) => String(labels[label])))].filter(isMeant);
    const counts = values.map((value) => ({ value, count: this.of(name, { ...among, [label]: value }) }));
    return counts.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count)[0]?.value ?? '';
  }

  /**
   * A quantile (0 to 1) of the values in a histogram, in its own unit; `undefined` for an empty one. Linear within a
   * bucket, like Prometheus' `histogram_quantile`. `atOnce`: the number of additional values in its first bucket.
   */
  quantile(name: string, quantile: number, labels: Labels = {}, atOnce = 0): number | undefined {
    const counts = new Map<number, number>();
    for (const [samples, sign] of [
      [this.after, 1],
      [this.before, -1],
    ] as const) {
      for (const { value, labels: its } of samples.of(`${name}_bucket`, labels)) {
        const upTo = its['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(its['le']);
        counts.set(upTo, (counts.get(upTo) ?? atOnce) + sign * value);
      }
    }
    const buckets = [...counts].map(([upTo, count]) => ({ upTo, count })).sort((a, b) => a.upTo - b.upTo);
    const rank = quantile * (buckets.at(-1)?.count ?? 0);
    if (rank <= 0) return undefined;
    const index = buckets.findIndex(({ count }) => count >= rank);
    const { upTo: from, count: below } = buckets[index - 1] ?? { upTo: 0, count: 0 };
    const { upTo, count } = buckets[index] ?? { upTo: from, count: below };
    return Number.isFinite(upTo) ? from + ((upTo - from) * (rank - below)) / (count - below) : from;
  }
}
