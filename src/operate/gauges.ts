import { Gauge, type Registry } from 'prom-client';
import type { WaitingClient } from '../clients/waiting-clients.ts';
import type { OperationName } from '../ton/operations.ts';
import type { IndexerSample } from './indexer-metrics.ts';
import type { StreamSources } from './stream-metrics.ts';

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
  readonly redisClockOffsetMs: () => number;
  /** Absent where `stream.url` is not set. */
  readonly stream: StreamSources | undefined;
}

/** The cached operations. */
export const OPERATIONS: readonly OperationName[] = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'];

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
      for (const operation of OPERATIONS) this.set({ operation }, sources.expectedWaitMs(operation) / 1000);
    },
  });
  gauge(
    'redis_clock_offset_seconds',
    "How far the clock of Redis is ahead of this machine's.",
    () => sources.redisClockOffsetMs() / 1000,
  );
  gauge('redis_writes_pending', 'Redis writes under way.', sources.redisWritesPending);
}
