import { Gauge, type Registry } from 'prom-client';
import type { AppEvent } from '../event-hub.ts';
import { Tally } from './tallies.ts';

/** What is known of one indexer now. */
export interface IndexerSample {
  /** Its host and port. */
  readonly indexer: string;
  /** Its newest known masterchain block; -1 while none is known. */
  readonly seqno: number;
  /** The blocks by which it is behind the newest head of all. */
  readonly lag: number;
  /** Whether that is too many. */
  readonly isBehind: boolean;
  readonly slotsInUse: number;
  /** How long its requests take, the longest of late; 0 where there is one indexer. */
  readonly peakMs: number;
  /** Whether the last requests to it failed; always `false` where there is one indexer. */
  readonly isFailing: boolean;
}

/** The metrics of each indexer, by its host and port. */
export class IndexerMetrics {
  readonly #registry: Registry;
  readonly #requests: Tally;
  readonly #breakerOpen: Gauge;
  readonly #paused: Gauge;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#requests = new Tally(registry, {
      name: 'toncache_indexer_requests_total',
      help: 'Requests to each indexer, by status or failure.',
      labelNames: ['indexer', 'result'],
    });
    this.#breakerOpen = this.#gauge(
      'breaker_open',
      'Whether the circuit breaker of an operation is open (1).',
      'operation',
    );
    this.#paused = this.#gauge(
      'upstream_paused',
      'Whether the indexer asked for a pause (429) and has not answered since (1).',
    );
  }

  /** Shows what is known at each scrape. `operations`: those with a circuit breaker. To be called once. */
  readGauges(read: () => readonly IndexerSample[], operations: readonly string[]): void {
    for (const { indexer } of read()) {
      this.#paused.set({ indexer }, 0);
      for (const operation of operations) this.#breakerOpen.set({ indexer, operation }, 0);
    }
    const show = (name: string, help: string, value: (sample: IndexerSample) => number) =>
      this.#gauge(name, help, undefined, (gauge) => {
        for (const sample of read()) gauge.set({ indexer: sample.indexer }, value(sample));
      });
    show('indexer_head_seqno', 'The newest masterchain block of each indexer; 0 while none is known.', ({ seqno }) =>
      Math.max(0, seqno),
    );
    show('indexer_lag_blocks', 'The blocks by which each indexer is behind the newest of all.', ({ lag }) => lag);
    show('indexer_behind', 'Whether the chain of an indexer is too far behind (1): the others are asked.', (sample) =>
      Number(sample.isBehind),
    );
    show('indexer_slots_in_use', 'Requests of the operations at each indexer now.', ({ slotsInUse }) => slotsInUse);
    show(
      'indexer_peak_seconds',
      'How long requests to each indexer take, the longest of late.',
      ({ peakMs }) => peakMs / 1000,
    );
    show('indexer_failing', 'Whether the last requests to an indexer failed (1): the others are asked.', (sample) =>
      Number(sample.isFailing),
    );
    new Gauge({
      name: 'toncache_newest_masterchain_seqno',
      help: 'The newest masterchain block that an indexer is known to have; 0 while none is known.',
      registers: [this.#registry],
      collect() {
        this.set(Math.max(0, ...read().map(({ seqno }) => seqno)));
      },
    });
  }

  onEvent(event: AppEvent): void {
    switch (event.name) {
      case 'upstream-answered':
        this.#requests.add(event.indexer, event.status);
        break;
      case 'upstream-failed':
        this.#requests.add(event.indexer, event.code);
        break;
      case 'breaker':
        this.#breakerOpen.set({ indexer: event.indexer, operation: event.operation }, event.state === 'open' ? 1 : 0);
        break;
      case 'pause':
        this.#paused.set({ indexer: event.indexer }, event.state === 'begun' ? 1 : 0);
        break;
      default:
    }
  }

  #gauge(name: string, help: string, label?: string, collect?: (gauge: Gauge) => void): Gauge {
    const labelNames = label === undefined ? ['indexer'] : ['indexer', label];
    return new Gauge({
      name: `toncache_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      ...(collect && {
        collect() {
          collect(this);
        },
      }),
    });
  }
}
