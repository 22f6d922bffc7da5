import type { ByEvent, EventHub } from '../event-hub.ts';
import { inMap } from '../in-map.ts';
import type { Ms } from '../time-units.ts';

// Events of each request are counted in plain numbers. With prom-client's `inc` and `observe`, which render the labels
// each time, metrics took 4 % of the CPU time of a miss (measured). The conditions read the same numbers.

/** Bounds of buckets, in seconds, from half a millisecond (Redis in the same rack) up. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/**
 * Buckets for requests, which end just above a timeout: otherwise a timeout of 5 s would look like 7.5 s. One of them
 * ends at `slowMs`.
 */
export function boundsUpTo(timeoutMs: Ms, slowMs: Ms): readonly number[] {
  const [timeout, slow] = [timeoutMs / 1000, slowMs / 1000];
  const below = new Set([...SECONDS.filter((bound) => bound < timeout), slow]);
  return [...[...below].sort((a, b) => a - b), timeout, 1.05 * timeout];
}

/** One line of a metric on the page. */
export interface LabeledValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

export interface DescribedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labelNames: readonly string[];
}

/** A metric whose lines are read at each scrape. */
export interface ReadMetric extends DescribedMetric {
  readonly read: () => readonly LabeledValue[];
}

type Label = string | number;

/** The values of at most three labels, in their order. */
type LabelValues = readonly [first?: Label, second?: Label, third?: Label];

/** One value for each combination of labels that has occurred. */
class ByLabels<T, L extends LabelValues> {
  readonly #create: () => T;
  readonly #values = new Map<Label, Map<Label, Map<Label, T>>>();

  constructor(create: () => T) {
    this.#create = create;
  }

  /**
   * The value of a combination, created on first use. A counter that is created before its first event is on the page
   * with 0: otherwise `rate` and `increase` do not see that event.
   */
  of([first = '', second = '', third = '']: L): T {
    const ofFirst = inMap(this.#values, first, () => new Map());
    const ofSecond = inMap(ofFirst, second, () => new Map());
    return inMap(ofSecond, third, this.#create);
  }

  /** Each value with its labels; a label that is not used is empty. */
  get entries(): readonly (readonly [L, T])[] {
    return [...this.#values].flatMap(([first, ofFirst]) =>
      [...ofFirst].flatMap(([second, ofSecond]) =>
        // The cast: the type of the keys is lost in the maps, which only `of` fills.
        [...ofSecond].map(([third, value]) => [[first, second, third] as unknown as L, value] as const),
      ),
    );
  }
}

/** The number of events. */
interface EventCount {
  value: number;
}

/** How many durations ended in each bucket, and their sum in seconds. */
interface Durations {
  readonly counts: number[];
  sum: number;
}

type Counts<L extends LabelValues> = ByLabels<EventCount, L>;
type Histogram<L extends LabelValues> = ByLabels<Durations, L>;

/**
 * All metrics of toncache itself, as plain numbers: components add theirs, each with its name (without the prefix
 * `toncache_`) and its help. It knows nothing of Prometheus' format.
 */
export class Metrics {
  readonly #events: EventHub;
  readonly #all = new Map<string, DescribedMetric & { readonly readers: ReadMetric['read'][] }>();

  constructor(events: EventHub) {
    this.#events = events;
  }

  /** Every metric, in the order in which they were added. */
  get all(): readonly ReadMetric[] {
    return [...this.#all.values()].map(({ readers, ...described }) => ({
      ...described,
      read: () => readers.flatMap((read) => read()),
    }));
  }

  /** Adds lines that are read at each scrape. Several components may add lines to one metric. */
  add({ name: suffix, read, ...rest }: ReadMetric): void {
    const name = `toncache_${suffix}`;
    const known = this.#all.get(name);
    if (known === undefined) this.#all.set(name, { name, ...rest, readers: [read] });
    else known.readers.push(read);
  }

  /** Adds a number that is read at each scrape. It has no line while it is `undefined`. */
  gauge(
    name: string,
    help: string,
    read: () => number | undefined,
    labels: Readonly<Record<string, string>> = {},
  ): void {
    const lines = () => {
      const value = read();
      return value === undefined ? [] : [{ value, labels }];
    };
    this.add({ name, help, type: 'gauge', labelNames: Object.keys(labels), read: lines });
  }

  /** Counts events, by the values of labels that are read from each. */
  count<L extends LabelValues>(
    name: string,
    help: string,
    labelNames: readonly string[],
    labelsOf: ByEvent<L>,
  ): Counts<L> {
    const counts: Counts<L> = new ByLabels(() => ({ value: 0 }));
    // The cast: without names, no event has labels.
    if (labelNames.length === 0) counts.of([] as LabelValues as L);
    const read = () => counts.entries.map(([labels, { value }]) => ({ labels: named(labelNames, labels), value }));
    this.add({ name, help, type: 'counter', labelNames, read });
    this.#events.onEach(labelsOf, (labels) => {
      counts.of(labels).value++;
    });
    return counts;
  }

  /** Counts durations in buckets of these bounds (seconds), from milliseconds and labels that are read from events. */
  time<L extends LabelValues>(
    name: string,
    help: string,
    labelNames: readonly string[],
    durationOf: ByEvent<readonly [Ms, L]>,
    bounds: readonly number[] = SECONDS,
  ): Histogram<L> {
    const durations: Histogram<L> = new ByLabels(() => ({
      counts: new Array<number>(bounds.length + 1).fill(0),
      sum: 0,
    }));
    const read = () =>
      durations.entries.flatMap(([values, { counts, sum }]) => {
        const labels = named(labelNames, values);
        let count = 0;
        // The count of a bucket includes those of all lower buckets.
        const buckets = counts.map((inBucket, index) => {
          count += inBucket;
          const le = bounds[index] ?? '+Inf';
          return { value: count, labels: { le, ...labels }, metricName: `toncache_${name}_bucket` };
        });
        return [
          ...buckets,
          { value: sum, labels, metricName: `toncache_${name}_sum` },
          { value: count, labels, metricName: `toncache_${name}_count` },
        ];
      });
    this.add({ name, help, type: 'histogram', labelNames, read });
    this.#events.onEach(durationOf, ([ms, labels]) => {
      const seconds = ms / 1000;
      const its = durations.of(labels);
      let bucket = 0;
      for (const bound of bounds) {
        if (seconds <= bound) break;
        bucket++;
      }
      its.counts[bucket] = (its.counts[bucket] ?? 0) + 1;
      its.sum += seconds;
    });
    return durations;
  }
}

const named = (names: readonly string[], values: LabelValues): LabeledValue['labels'] =>
  Object.fromEntries(names.map((name, place) => [name, values[place] ?? '']));
