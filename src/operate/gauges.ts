import type { Registry } from 'prom-client';
import type { Admission } from '../admission/admission.ts';
import type { Guard } from '../admission/guard.ts';
import type { Pause } from '../admission/pause.ts';
import type { FollowerState, ShownFollower } from '../answer/block-proof.ts';
import type { MemoryTier } from '../cache/memory-tier.ts';
import type { RedisTier } from '../cache/redis-tier.ts';
import type { Clock } from '../clock.ts';
import { REFUSED } from '../failures/refusals.ts';
import { sentenceOf } from '../failures/sentence.ts';
import type { Heads } from '../fleet/heads.ts';
import type { FleetRoute } from '../fleet/routes.ts';
import type { PublicServer } from '../http/public/public-server.ts';
import type { ClientStreaming } from '../http/streaming/streaming.ts';
import type { Head, LastWord } from '../indexer/head.ts';
import type { HeadPolls } from '../indexer/head-polls.ts';
import type { Conditions } from '../tell/conditions.ts';
import type { Ms } from '../time-units.ts';
import type { OperationName } from '../ton/operation-names.ts';
import { addMetric, type LabeledValue } from './event-counters.ts';

/** The components whose values are read at each scrape. */
export interface GaugeSources {
  /** The names of the cached operations. */
  readonly operations: readonly OperationName[];
  readonly memory: MemoryTier;
  /** The maximum size of the memory tier, in the same measure as its `sizeBytes`. */
  readonly maxMemoryBytes: number;
  readonly server: PublicServer;
  readonly indexers: {
    readonly admission: Admission;
    readonly all: readonly {
      readonly name: string;
      readonly head: Head;
      readonly polls: Pick<HeadPolls, 'isUnresponsive'>;
      readonly route: FleetRoute;
      readonly pause: Pick<Pause, 'breaker'>;
      /** By operation. */
      readonly breakers: ReadonlyMap<string, Guard>;
      readonly notServed: ReadonlyMap<string, Guard>;
    }[];
    /** Absent without two replicas. */
    readonly heads: Heads | undefined;
  };
  readonly conditions: Pick<Conditions, 'level' | 'samples'>;
  readonly clock: Clock;
  /** Absent without Redis. */
  readonly redis: { readonly tier: RedisTier } | undefined;
  /** Absent if no answers are proven. */
  readonly proof: ShownFollower | undefined;
  /** The streams of clients; absent without pass-through. */
  readonly streams: ClientStreaming['streams'] | undefined;
}

const FOLLOWER_STATES = Object.keys({ alive: 1, behind: 1, idle: 1, resting: 1 } satisfies Record<FollowerState, 1>);

/** Adds gauges to the page, which are read at each scrape. */
export function addGauges(registry: Registry, sources: GaugeSources): void {
  const { operations, memory, maxMemoryBytes, server, indexers, clock, redis } = sources;
  const { admission, all, heads } = indexers;
  const add = (name: string, help: string, labelNames: readonly string[], read: () => readonly LabeledValue[]) =>
    addMetric(registry, name, help, 'gauge', labelNames, read);
  const gauge = (name: string, help: string, read: () => number) =>
    add(name, help, [], () => [{ value: read(), labels: {} }]);
  type Indexer = (typeof all)[number];
  const ofIndexer = (name: string, help: string, read: (indexer: Indexer) => number) =>
    add(name, help, ['upstream'], () =>
      all.map((indexer) => ({ value: read(indexer), labels: { upstream: indexer.name } })),
    );
  gauge('verdict', 'How clients are served: 0 OK, 1 DEGRADED, 2 FAILING.', () => sources.conditions.level);
  gauge('memory_tier_bytes', 'Bytes in the memory tier, overhead included.', () => memory.sizeBytes);
  gauge('memory_tier_max_bytes', 'The most bytes that the memory tier may hold.', () => maxMemoryBytes);
  gauge('memory_tier_entries', 'Entries in the memory tier.', () => memory.count);
  gauge('requests_in_flight', 'Requests of clients that are not answered yet.', () => server.requestsInFlight);
  gauge('upstream_requests_in_flight', 'Requests at all indexers now.', () => admission.inFlight);
  gauge(
    'upstream_concurrency_limit',
    'Slots of all indexers but backups: the most requests for cached operations at once.',
    () => all.reduce((sum, { route }) => sum + (route.isBackup ? 0 : route.slots.max), 0),
  );
  gauge('upstream_requests_queued', 'Requests that wait for a slot at an indexer.', () => admission.backlog.size);
  add(
    'upstream_expected_wait_seconds',
    'Time that a miss would wait for a slot at an indexer now.',
    ['operation'],
    () =>
      operations.map((operation) => ({
        value: admission.backlog.expectedWaitMs(operation) / 1000,
        labels: { operation },
      })),
  );
  gauge('redis_clock_offset_seconds', "Time by which the clock of Redis is ahead of this machine's.", () =>
    redis === undefined ? 0 : clock.aheadOfWallMs / 1000,
  );
  gauge('redis_pending_writes', 'Writes to Redis that are under way.', () => redis?.tier.pendingWrites ?? 0);
  ofIndexer('upstream_head_seqno', 'The newest masterchain block of each indexer; 0 if unknown.', ({ head }) =>
    Math.max(0, head.highestBlock),
  );
  const said = (name: string, help: string, read: (word: LastWord) => Ms | undefined) =>
    add(name, help, ['upstream'], () =>
      all.flatMap(({ name, head: { lastWord } }) => {
        const ms = lastWord && read(lastWord);
        return ms === undefined ? [] : [{ value: ms / 1000, labels: { upstream: name } }];
      }),
    );
  said(
    'upstream_head_age_seconds',
    'Age of the newest block of each indexer at its last head poll, by our clock; negative if it is ahead. Absent without head polls.',
    ({ ageMs }) => ageMs,
  );
  said(
    'upstream_head_unchanged_seconds',
    'Time for which the newest block of each indexer has been the same. Absent without head polls.',
    ({ sameForMs }) => sameForMs,
  );
  ofIndexer('upstream_backup', '1 if the indexer is a backup, else 0.', ({ route }) => Number(route.isBackup));
  ofIndexer(
    'upstream_lag_blocks',
    'The blocks by which each indexer is behind the newest.',
    ({ route }) => heads?.lag(route.index) ?? 0,
  );
  ofIndexer('upstream_behind', '1 while an indexer is too far behind to be used; else 0.', (it) =>
    Number(heads?.isBehind(it.route.index) === true),
  );
  ofIndexer('upstream_slots_in_use', 'Slots in use at each indexer.', ({ route }) => route.slots.inUse);
  ofIndexer(
    'upstream_peak_latency_seconds',
    'The longest time that a recent request to each indexer took.',
    ({ route }) => (route.health?.peakMs ?? 0) / 1000,
  );
  ofIndexer('upstream_unhealthy', '1 while requests to an indexer fail, so that the others are used; else 0.', (it) =>
    Number(it.route.health?.isHealthy === false),
  );
  ofIndexer('upstream_paused', `1 after ${sentenceOf(REFUSED.paused)}, until it answers again; else 0.`, ({ pause }) =>
    Number(!pause.breaker.isClosed),
  );
  add(
    'circuit_breaker_open',
    '1 while the circuit breaker of an operation at an indexer is open; else 0.',
    ['upstream', 'operation'],
    () =>
      all.flatMap(({ name, breakers }) =>
        [...breakers].map(([operation, { breaker }]) => ({
          value: Number(!breaker.isClosed),
          labels: { upstream: name, operation },
        })),
      ),
  );
  const { streams, proof } = sources;
  if (proof !== undefined) {
    add('block_follower_state', '1 for the state of the block follower, 0 for the others.', ['state'], () =>
      FOLLOWER_STATES.map((state) => ({ value: Number(proof.state === state), labels: { state } })),
    );
    gauge('block_follower_seqno', 'The newest masterchain block that the follower has read; 0 while none is.', () =>
      Math.max(0, proof.blocks.newestRead),
    );
    gauge('proof_entries', 'Answers in the memory tier that blocks may prove.', () => memory.provable);
  }
  if (streams !== undefined) {
    add('client_streams', 'Streams of clients that are open.', ['kind'], () =>
      (['websocket', 'sse'] as const).map((kind) => ({ value: streams.count(kind), labels: { kind } })),
    );
  }
}
