import { Counter, Gauge, type Registry } from 'prom-client';
import type { AppEvent } from '../event-hub.ts';
import type { StreamEvent } from '../push/events.ts';

/** Current values, read at each scrape. */
export interface StreamSources {
  readonly isConnected: () => boolean;
  readonly watches: () => number;
  readonly addresses: () => number;
}

/** What is counted, by the name of the event. */
const COUNTED: readonly (readonly [event: StreamEvent['name'], name: string, help: string])[] = [
  ['stream-event', 'events_total', 'Events that the stream sent.'],
  ['stream-missed-event', 'missed_events_total', 'Traces in answers after an empty one, which no event announced.'],
  ['stream-bad-frame', 'bad_frames_total', 'Messages of the stream that could not be read.'],
  ['stream-refused', 'refused_total', 'Errors that the stream answered with, to a subscription or without one.'],
];

/** The metrics of the stream, in the given registry. */
export class StreamMetrics {
  readonly #registers: Registry[];
  readonly #counters: ReadonlyMap<AppEvent['name'], Counter>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registers = registers;
    this.#counters = new Map(
      COUNTED.map(([event, name, help]) => [event, new Counter({ name: `toncache_stream_${name}`, help, registers })]),
    );
  }

  /** Adds the gauges to the page. */
  readGauges(sources: StreamSources): void {
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name: `toncache_stream_${name}`,
        help,
        registers: this.#registers,
        collect() {
          this.set(read());
        },
      });
    gauge('connected', 'Whether the stream is connected to (1).', () => Number(sources.isConnected()));
    gauge('watches', 'Keys that clients poll and that the stream watches.', sources.watches);
    gauge('addresses', 'Addresses that are subscribed to.', sources.addresses);
  }

  onEvent(event: AppEvent): void {
    this.#counters.get(event.name)?.inc();
  }
}
