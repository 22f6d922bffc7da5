/** One line of the metrics page. */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

/** The metrics of one instance at one instant, asked for by their names without the prefix `toncache_`. */
export class Samples {
  readonly #samples = new Map<string, MetricSample[]>();

  constructor(samples: readonly MetricSample[]) {
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
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels);
    return this.of(name)
      .filter((sample) => wanted.every(([label, value]) => String(sample.labels[label]) === value))
      .reduce((sum, { value }) => sum + value, 0);
  }

  /** The values that a label has, each once, in the order of the page. */
  valuesOf(name: string, label: string): string[] {
    return [...new Set(this.of(name).map(({ labels }) => String(labels[label] ?? '')))];
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
