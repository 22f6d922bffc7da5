import type { Metric, Registry } from 'prom-client';
import type { AppEvent } from '../event-hub.ts';
import type { Ms } from '../time-units.ts';

// Events of each request are counted in plain numbers. With prom-client's `inc` and `observe`, which render the labels
// each time, metrics took 4 % of the CPU time of a miss (measured). prom-client still renders the page, by calling
// `get`.

/** The names of a metric on the page. */
export interface Naming {
  readonly name: string;
  readonly help: string;
  /** At most two. */
  readonly labelNames: readonly string[];
}

/** Bounds of buckets, in seconds, from half a millisecond (Redis in the same rack) up. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Buckets that end just above a timeout (milliseconds): else one of 5 s would look like 7.5 s. */
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

/** Adds a metric to the page, whose lines are read at each scrape. */
export function addMetric(
  registry: Registry,
  { name, help }: Omit<Naming, 'labelNames'>,
  type: 'counter' | 'gauge' | 'histogram',
  read: () => readonly LabeledValue[],
): void {
  const metric = { name, help, type, get: () => Promise.resolve({ name, help, type, values: read() }) };
  // The cast: Registry is typed for prom-client's own classes, but calls only `name` and `get` of a metric (15.1.3).
  registry.registerMetric(metric as unknown as Metric);
}

/** One value for each combination of labels that has occurred, in order of first occurrence. */
class ByLabels<T> {
  readonly #names: readonly string[];
  readonly #create: () => T;
  readonly #values = new Map<string, Map<string | number, T>>();

  constructor(names: readonly string[], create: () => T) {
    this.#names = names;
    this.#create = create;
  }

  of(first: string, second: string | number): T {
    let seconds = this.#values.get(first);
    if (seconds === undefined) {
      seconds = new Map();
      this.#values.set(first, seconds);
    }
    let value = seconds.get(second);
    if (value === undefined) {
      value = this.#create();
      seconds.set(second, value);
    }
    return value;
  }

  flatMap<R>(render: (labels: LabeledValue['labels'], value: T) => R[]): R[] {
    return [...this.#values].flatMap(([first, seconds]) =>
      [...seconds].flatMap(([second, value]) => {
        const values = [first, second];
        return render(Object.fromEntries(this.#names.map((name, index) => [name, values[index] ?? ''])), value);
      }),
    );
  }
}

/** A counter, or a gauge of what was last said. */
export class Tally {
  readonly #values: ByLabels<{ value: number }>;

  constructor(registry: Registry, naming: Naming, type: 'counter' | 'gauge' = 'counter') {
    this.#values = new ByLabels(naming.labelNames, () => ({ value: 0 }));
    if (naming.labelNames.length === 0) this.start();
    addMetric(registry, naming, type, () => this.#values.flatMap((labels, { value }) => [{ value, labels }]));
  }

  /** Shows the labels with 0 until something is counted: else `rate` and `increase` do not see the first event. */
  start(first = '', second: string | number = ''): void {
    this.#values.of(first, second);
  }

  /** Adds to the count, under the values of the labels in their order. */
  add(count: number, first = '', second: string | number = ''): void {
    this.#values.of(first, second).value += count;
  }

  /** Replaces the value. */
  set(value: number, first = '', second: string | number = ''): void {
    this.#values.of(first, second).value = value;
  }
}

/** A histogram. */
export class DurationTally {
  readonly #bounds: readonly number[];
  readonly #durations: ByLabels<{ readonly counts: number[]; sum: number }>;

  /** `bounds`: the upper end of each bucket, in seconds, ascending. */
  constructor(registry: Registry, naming: Naming, bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#durations = new ByLabels(naming.labelNames, () => ({ counts: new Array(bounds.length + 1).fill(0), sum: 0 }));
    addMetric(registry, naming, 'histogram', () =>
      this.#durations.flatMap((labels, each) => this.#render(naming, labels, each)),
    );
  }

  /** Counts a duration in milliseconds. */
  add(ms: Ms, first = '', second: string | number = ''): void {
    const seconds = ms / 1000;
    const of = this.#durations.of(first, second);
    let bucket = 0;
    for (const bound of this.#bounds) {
      if (seconds <= bound) break;
      bucket++;
    }
    of.counts[bucket] = (of.counts[bucket] ?? 0) + 1;
    of.sum += seconds;
  }

  /** The count of a bucket includes those of all buckets below it. */
  #render(
    { name }: Naming,
    labels: LabeledValue['labels'],
    { counts, sum }: { counts: number[]; sum: number },
  ): LabeledValue[] {
    let count = 0;
    const buckets = counts.map((inBucket, index): LabeledValue => {
      count += inBucket;
      return { value: count, labels: { le: this.#bounds[index] ?? '+Inf', ...labels }, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { value: sum, labels, metricName: `${name}_sum` },
      { value: count, labels, metricName: `${name}_count` },
    ];
  }
}

type Named<N extends AppEvent['name']> = Extract<AppEvent, { readonly name: N }>;

/** The values of the labels of one event, in their order. */
type Values = readonly [first?: string, second?: string | number];

/** Which events a metric counts, and under which values of its labels. */
type Counted = { readonly [N in AppEvent['name']]?: (event: Named<N>) => Values };

/** Which events a metric reads a number from: milliseconds, or a value. The values of the labels follow it. */
type Measured = { readonly [N in AppEvent['name']]?: (event: Named<N>) => readonly [measured: number, ...Values] };

/** Metrics of events, each with its name (without the prefix `toncache_`), its help, its labels and what it counts. */
export class EventCounters {
  readonly registry: Registry;
  readonly #listeners = new Map<AppEvent['name'], ((event: AppEvent) => void)[]>();

  constructor(registry: Registry) {
    this.registry = registry;
  }

  /** Counts an event in all metrics that count it. */
  readonly onEvent = (event: AppEvent): void => {
    for (const listener of this.#listeners.get(event.name) ?? []) listener(event);
  };

  /** Calls back for each event of a name. */
  on<N extends AppEvent['name']>(name: N, listener: (event: Named<N>) => void): void {
    const listeners = this.#listeners.get(name) ?? [];
    // The cast: TypeScript does not see that a name and its events belong together.
    this.#listeners.set(name, [...listeners, listener as (event: AppEvent) => void]);
  }

  /** A counter with at most two labels. */
  count(name: string, help: string, labelNames: readonly string[], counted: Counted): Tally {
    const tally = new Tally(this.registry, { name: `toncache_${name}`, help, labelNames });
    this.#onEach<Values>(counted, ([first, second]) => tally.add(1, first, second));
    return tally;
  }

  /** A gauge with at most two labels: what the last event said of each combination. */
  state(name: string, help: string, labelNames: readonly string[], measured: Measured): Tally {
    const tally = new Tally(this.registry, { name: `toncache_${name}`, help, labelNames }, 'gauge');
    this.#onEach<readonly [number, ...Values]>(measured, (values) => tally.set(...values));
    return tally;
  }

  /** A histogram of seconds with one or two labels. */
  time(name: string, help: string, labelNames: readonly string[], timed: Measured, bounds = SECONDS): void {
    const tally = new DurationTally(this.registry, { name: `toncache_${name}`, help, labelNames }, bounds);
    this.#onEach<readonly [number, ...Values]>(timed, ([ms, first, second]) => tally.add(ms, first, second));
  }

  #onEach<V>(valuesOf: { readonly [N in AppEvent['name']]?: (event: Named<N>) => V }, add: (values: V) => void): void {
    for (const [name, values] of Object.entries(valuesOf)) {
      this.on(name as AppEvent['name'], (event) => add((values as (event: AppEvent) => V)(event)));
    }
  }
}
