import { Gauge, type Registry } from 'prom-client';
import type { WaitingClient } from '../clients/waiting-clients.ts';
import type { Ms } from '../time-units.ts';
import { OPERATION_NAMES, type OperationName } from '../ton/operations.ts';

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
  readonly peakMs: Ms;
  /** Whether the last requests to it failed; always `false` where there is one indexer. */
  readonly isFailing: boolean;
}

/** Current values, read at each scrape. */
export interface GaugeSources {
  readonly memoryBytes: () => number;
  /** The most that the memory tier may hold, in the same measure as `memoryBytes`. */
  readonly memoryMaxBytes: () => number;
  readonly memoryEntries: () => number;
  /** Requests whose answers have not been sent to their clients yet. */
  readonly requestsInFlight: () => number;
  /** Requests at the indexer. */
  readonly inFlight: () => number;
  /** Requests that wait for a slot at the indexer. */
  readonly waiting: () => number;
  /** By client, most first. */
  readonly waitingClients: () => readonly WaitingClient[];
  readonly limit: () => number;
  /** How long a miss of an operation would wait for a slot. */
  readonly expectedWaitMs: (operation: OperationName) => number;
  readonly indexers: () => readonly IndexerSample[];
  /** 0: serving, 1: stale answers or what is cached, 2: refusing. */
  readonly verdict: () => number;
  readonly redisWritesPending: () => number;
  readonly redisClockOffsetMs: () => Ms;
  /** Absent where `stream.url` is not set. */
  readonly stream: StreamSources | undefined;
}

/** The same of the stream. */
export interface StreamSources {
  readonly isConnected: () => boolean;
  readonly watches: () => number;
  readonly addresses: () => number;
}

/** Adds gauges to the page; they are read at each scrape. */
export function addGauges(registry: Registry, sources: GaugeSources): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `toncache_${name}`,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge(
    'verdict',
    'How clients are served: 0 as always, 1 with stale or cached answers alone, 2 some are refused.',
    sources.verdict,
  );
  gauge('memory_bytes', 'Bytes in the memory tier, overhead included.', sources.memoryBytes);
  gauge('memory_max_bytes', 'The most bytes that the memory tier may hold.', sources.memoryMaxBytes);
  gauge('memory_entries', 'Entries in the memory tier.', sources.memoryEntries);
  gauge(
    'requests_in_flight',
    'Requests that were read from clients and whose answers have not been sent yet.',
    sources.requestsInFlight,
  );
  gauge('upstream_in_flight', 'Requests at the indexer now.', sources.inFlight);
  gauge('upstream_concurrency_limit', 'The most requests of the operations at the indexer.', sources.limit);
  gauge('upstream_queued', 'Requests that wait for a slot at the indexer.', sources.waiting);
  gauge(
    'waiting_clients',
    'Clients whose requests wait for a slot at the indexer.',
    () => sources.waitingClients().length,
  );
  gauge(
    'waiting_greediest_ratio',
    'The part of the waiting requests that the greediest client has, 0 to 1.',
    () => sources.waitingClients()[0]?.share ?? 0,
  );
  new Gauge({
    name: 'toncache_upstream_expected_wait_seconds',
    help: 'How long a miss that came now would wait for a slot at the indexer.',
    labelNames: ['operation'],
    registers,
    collect() {
      for (const operation of OPERATION_NAMES) this.set({ operation }, sources.expectedWaitMs(operation) / 1000);
    },
  });
  gauge(
    'redis_clock_offset_seconds',
    "How far the clock of Redis is ahead of this machine's.",
    () => sources.redisClockOffsetMs() / 1000,
  );
  gauge('redis_writes_pending', 'Redis writes under way.', sources.redisWritesPending);
  const ofIndexer = (name: string, help: string, read: (sample: IndexerSample) => number) =>
    new Gauge({
      name: `toncache_${name}`,
      help,
      labelNames: ['indexer'],
      registers,
      collect() {
        for (const sample of sources.indexers()) this.set({ indexer: sample.indexer }, read(sample));
      },
    });
  ofIndexer('indexer_head_seqno', 'The newest masterchain block of each indexer; 0 while none is known.', ({ seqno }) =>
    Math.max(0, seqno),
  );
  ofIndexer('indexer_lag_blocks', 'The blocks by which each indexer is behind the newest of all.', ({ lag }) => lag);
  ofIndexer(
    'indexer_behind',
    'Whether the chain of an indexer is too far behind (1): the others are asked.',
    ({ isBehind }) => Number(isBehind),
  );
  ofIndexer('indexer_slots_in_use', 'Requests of the operations at each indexer now.', ({ slotsInUse }) => slotsInUse);
  ofIndexer(
    'indexer_peak_seconds',
    'How long requests to each indexer take, the longest of late.',
    ({ peakMs }) => peakMs / 1000,
  );
  ofIndexer(
    'indexer_failing',
    'Whether the last requests to an indexer failed (1): the others are asked.',
    ({ isFailing }) => Number(isFailing),
  );
  gauge(
    'newest_masterchain_seqno',
    'The newest masterchain block that an indexer is known to have; 0 while none is known.',
    () => Math.max(0, ...sources.indexers().map(({ seqno }) => seqno)),
  );
  const { stream } = sources;
  if (stream === undefined) return;
  gauge('stream_connected', 'Whether the stream is connected to (1).', () => Number(stream.isConnected()));
  gauge('stream_watches', 'Keys that clients poll and that the stream watches.', stream.watches);
  gauge('stream_addresses', 'Addresses that are subscribed to.', stream.addresses);
}
