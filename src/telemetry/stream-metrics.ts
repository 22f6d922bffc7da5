import { Counter, Gauge, type Registry } from 'prom-client';
import type { StreamEvent } from '../stream/events.ts';

/** Current values, read at each scrape. */
export interface StreamSources {
  readonly isConnected: () => boolean;
  /** Whether watched answers live longer than without a stream. */
  readonly isStretching: () => boolean;
  readonly watches: () => number;
  readonly addresses: () => number;
}

/** The metrics of the stream, in the given registry. */
export class StreamMetrics {
  readonly #registers: Registry[];
  readonly #events: Counter<'type'>;
  readonly #missed: Counter;
  readonly #badFrames: Counter;
  readonly #refused: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registers = registers;
    this.#events = new Counter({
      name: 'toncache_stream_events_total',
      help: 'Events that the stream sent, by type.',
      labelNames: ['type'],
      registers,
    });
    this.#missed = new Counter({
      name: 'toncache_stream_missed_events_total',
      help: 'Changes of watched answers of which the stream sent no event.',
      registers,
    });
    this.#badFrames = new Counter({
      name: 'toncache_stream_bad_frames_total',
      help: 'Messages of the stream that could not be read.',
      registers,
    });
    this.#refused = new Counter({
      name: 'toncache_stream_refused_total',
      help: 'Errors that the stream answered with, to a subscription or without one.',
      registers,
    });
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
    gauge('stretching', 'Whether watched answers live longer than without a stream (1).', () =>
      Number(sources.isStretching()),
    );
    gauge('watches', 'Keys that clients poll and that the stream watches.', sources.watches);
    gauge('addresses', 'Addresses that are to be subscribed to.', sources.addresses);
  }

  onEvent(event: StreamEvent): void {
    switch (event.name) {
      case 'stream-event':
        this.#events.inc({ type: event.type });
        break;
      case 'stream-missed-event':
        this.#missed.inc();
        break;
      case 'stream-bad-frame':
        this.#badFrames.inc();
        break;
      case 'stream-refused':
        this.#refused.inc();
        break;
      case 'stream-connected':
      case 'stream-disconnected':
      case 'stream-subscribed':
      case 'stream-stretching':
        break;
    }
  }
}
