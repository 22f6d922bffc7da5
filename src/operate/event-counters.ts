import type { Metric, Registry } from 'prom-client';
import type { ByEvent, EventHub } from '../event-hub.ts';
import type { Ms } from '../time-units.ts';

// Events of each request are counted in plain numbers. With prom-client's `inc` and `observe`, which render the labels
// each time, metrics took 4 % of the CPU time of a miss (measured). prom-client still renders the page, by calling
// `get`.

/** Bounds of buckets, in seconds, from half a millisecond (Redis in the same rack) up. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Buckets that end just above a timeout (milliseconds): otherwise a timeout of 5 s would look like 7.5 s. */
export function boundsUpTo(timeoutMs: Ms): number[] {
  const timeout = timeoutMs / 1000;
  return [...SECONDS.filter((bound) => bound < timeout), timeout, 1.05 * timeout];
}

/** One line of a metric on the page. */
export interface LabeledValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

/** The description of a metric. */
export interface DescribedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labelNames: readonly string[];
}

/**
 * Adds a metric to the page, its name with the prefix `toncache_`. Its lines, with these labels, are read at each
 * scrape.
 */
export function addMetric(
  registry: Registry,
  suffix: string,
  help: string,
  type: 'counter' | 'gauge' | 'histogram',
  labelNames: readonly string[],
  read: () => readonly LabeledValue[],
): void {
  const name = `toncache_${suffix}`;
  const metric = { name, help, type, labelNames, get: () => Promise.resolve({ name, help, type, values: read() }) };
  // The cast: Registry is typed for prom-client's own classes, but calls only `name` and `get` of a metric (15.1.3).
  registry.registerMetric(metric as unknown as Metric);
}

/** The value of a label. */
type Label = string | number;

/** One value for each combination of at most three labels that has occurred. */
class ByLabels<T> {
  readonly #create: () => T;
  readonly #values = new Map<Label, Map<Label, Map<Label, T>>>();

  constructor(create: () => T) {
    this.#create = create;
  }

  /**
   * The value of a combination, created on first use. A counter that is created before its first event is on the page
   * with 0: otherwise `rate` and `increase` do not see that event.
   */
  of(first: Label = '', second: Label = '', third: Label = ''): T {
    let ofFirst = this.#values.get(first);
    if (ofFirst === undefined) {
      ofFirst = new Map();
      this.#values.set(first, ofFirst);
    }
    let ofSecond = ofFirst.get(second);
    if (ofSecond === undefined) {
      ofSecond = new Map();
      ofFirst.set(second, ofSecond);
    }
    let value = ofSecond.get(third);
    if (value === undefined) {
      value = this.#create();
      ofSecond.set(third, value);
    }
    return value;
  }

  /** The values with their labels, which have these names. */
  entries(names: readonly string[]): { labels: LabeledValue['labels']; value: T }[] {
    return [...this.#values].flatMap(([first, ofFirst]) =>
      [...ofFirst].flatMap(([second, ofSecond]) =>
        [...ofSecond].map(([third, value]) => {
          const all = [first, second, third];
          return { labels: Object.fromEntries(names.map((name, place) => [name, all[place] ?? ''])), value };
        }),
      ),
    );
  }
}

/** The values of the labels of one event, in their order. */
type LabelValues = readonly [first?: Label, second?: Label, third?: Label];

/** A number from one event, and the values of its labels. */
type LabeledNumber = readonly [read: number, ...LabelValues];

/** Metrics of events, each with its name (without the prefix `toncache_`), its help and at most three labels. */
export class EventCounters {
  readonly registry: Registry;
  readonly events: EventHub;

  constructor(registry: Registry, events: EventHub) {
    this.registry = registry;
    this.events = events;
  }

  /** A counter of events, with at most three labels. */
  count(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: ByEvent<LabelValues>,
  ): ByLabels<{ value: number }> {
    const counts = new ByLabels(() => ({ value: 0 }));
    if (labelNames.length === 0) counts.of();
    addMetric(this.registry, name, help, 'counter', labelNames, () =>
      counts.entries(labelNames).map(({ labels, value: { value } }) => ({ labels, value })),
    );
    this.events.onEach(read, ([first, second, third]) => {
      counts.of(first, second, third).value++;
    });
    return counts;
  }

  /** A histogram of seconds, from numbers in milliseconds. */
  time(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: ByEvent<LabeledNumber>,
    bounds: readonly number[] = SECONDS,
  ): void {
    const histograms = new ByLabels(() => ({ counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }));
    addMetric(this.registry, name, help, 'histogram', labelNames, () =>
      histograms.entries(labelNames).flatMap(({ labels, value: { counts, sum } }) => {
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
      }),
    );
    this.events.onEach(read, ([ms, first, second]) => {
      const seconds = ms / 1000;
      const histogram = histograms.of(first, second);
      let bucket = 0;
      for (const bound of bounds) {
        if (seconds <= bound) break;
        bucket++;
      }
      histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
      histogram.sum += seconds;
    });
  }
}
