import { Counter, type Registry } from 'prom-client';
import type { AppEvent } from '../event-hub.ts';
import { DurationTally, SECONDS, Tally } from './tallies.ts';

type Named<N extends AppEvent['name']> = Extract<AppEvent, { readonly name: N }>;

/** The values of the labels of one event, in their order. */
type Values = readonly [first: string, second?: string | number];

/** Which events a metric counts, and under which values of its labels. */
type Counted = { readonly [N in AppEvent['name']]?: (event: Named<N>) => Values };

/** Which events a histogram counts: the milliseconds, then the values of its labels. */
type Timed = { readonly [N in AppEvent['name']]?: (event: Named<N>) => readonly [ms: number, ...Values] };

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

  /** A counter without labels, of events of this name if there is one: for rare ones, because prom-client counts them. */
  countAll(name: string, help: string, event?: AppEvent['name']): Counter {
    const counter = new Counter({ name: `toncache_${name}`, help, registers: [this.registry] });
    if (event !== undefined) this.on(event, () => counter.inc());
    return counter;
  }

  /** A counter with one or two labels. */
  count(name: string, help: string, labelNames: readonly string[], counted: Counted): Tally {
    const tally = new Tally(this.registry, { name: `toncache_${name}`, help, labelNames });
    this.#onEach<Values>(counted, ([first, second]) => tally.add(first, second));
    return tally;
  }

  /** A histogram of seconds with one or two labels. */
  time(name: string, help: string, labelNames: readonly string[], timed: Timed, bounds = SECONDS): void {
    const tally = new DurationTally(this.registry, { name: `toncache_${name}`, help, labelNames }, bounds);
    this.#onEach<readonly [number, ...Values]>(timed, ([ms, first, second]) => tally.add(ms, first, second));
  }

  #onEach<V>(valuesOf: { readonly [N in AppEvent['name']]?: (event: Named<N>) => V }, add: (values: V) => void): void {
    for (const [name, values] of Object.entries(valuesOf)) {
      this.on(name as AppEvent['name'], (event) => add((values as (event: AppEvent) => V)(event)));
    }
  }
}
