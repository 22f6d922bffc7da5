import { Registry } from 'prom-client';
import { REQUEST_OUTCOMES } from '../answer/phase.ts';
import { type ErrorCode, UPSTREAM_FAILURES } from '../errors.ts';
import type { EventHub } from '../event-hub.ts';
import { REFUSED_REASONS } from '../failures/refusals.ts';
import type { Ms } from '../time-units.ts';
import { addMetric, boundsUpTo, type DescribedMetric, EventCounters } from './event-counters.ts';
import { addGauges, type GaugeSources } from './gauges.ts';
import type { LogDestination } from './log-destination.ts';
import { metricsOfProcess } from './process-metrics.ts';

/** The failures of requests for an operation that the client did not cause. */
const COUNTED_FAILURES: readonly ErrorCode[] = [
  ...UPSTREAM_FAILURES,
  'overloaded',
  'too-many-requests',
  'shutting-down',
  'internal',
];

export interface MetricsDependencies extends GaugeSources {
  readonly events: EventHub;
  readonly logOutput: Pick<LogDestination, 'dropped' | 'waitingBytes'>;
  /** `upstream.timeout`. */
  readonly timeoutMs: Ms;
}

/** The metrics, in a registry of their own. Counters count events; gauges are read at each scrape. */
export class Metrics {
  readonly #registry = new Registry();

  constructor({ events, logOutput, timeoutMs, ...sources }: MetricsDependencies) {
    for (const metric of metricsOfProcess()) this.#registry.registerMetric(metric);
    const counters = new EventCounters(this.#registry, events);
    countRequests(counters, sources.operations, timeoutMs);
    countUpstream(counters, timeoutMs);
    countRedis(counters);
    if (sources.streams !== undefined) countClientStreams(counters);
    countRest(counters);
    addGauges(this.#registry, sources);
    const present = '1 while a condition is present, 0 once it is over: docs/reference/status-page.md lists them.';
    const labels = ['name', 'level', 'upstream', 'operation'];
    addMetric(this.#registry, 'condition', present, 'gauge', labels, () => sources.conditions.samples);
    const dropped =
      'Log lines dropped because standard output does not take them: a full disk, or a reader that is slow or gone.';
    addMetric(this.#registry, 'log_lines_dropped_total', dropped, 'counter', [], () => [
      { value: logOutput.dropped, labels: {} },
    ]);
  }

  /** Every metric of toncache itself, in the order of the page. */
  get described(): DescribedMetric[] {
    // The cast: the metrics of {@link addMetric} are plain objects, whose members prom-client's type hides.
    const metrics = this.#registry.getMetricsAsArray() as unknown as DescribedMetric[];
    return metrics.filter(({ name }) => name.startsWith('toncache_'));
  }

  /** The page in Prometheus' text format. */
  async page(): Promise<{ contentType: string; body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}

function countRequests(counters: EventCounters, operations: readonly string[], timeoutMs: Ms): void {
  // Each answered request for an operation, once; failed ones here and in `request_failures_total`.
  const answered = counters.count(
    'requests_total',
    'Requests for cached operations, by how they were answered.',
    ['operation', 'outcome'],
    {
      answered: ({ operation, outcome }) => [operation, outcome],
    },
  );
  const failed = counters.count(
    'request_failures_total',
    'Requests for cached operations that failed, by error code.',
    ['operation', 'code'],
    {
      failed: ({ operation, error }) => [operation, error.code],
    },
  );
  // The requests of these loads may still get a stale answer.
  const shed = counters.count(
    'loads_refused_total',
    'Loads that were shed: not sent to an indexer.',
    ['operation', 'reason'],
    {
      shed: ({ operation, reason }) => [operation, reason],
    },
  );
  const left = counters.count(
    'client_closed_requests_total',
    'Requests whose client closed its connection before the answer.',
    ['operation'],
    {
      'client-closed-request': ({ operation }) => [operation],
    },
  );
  for (const operation of operations) {
    left.of(operation);
    for (const outcome of REQUEST_OUTCOMES) answered.of(operation, outcome);
    for (const code of COUNTED_FAILURES) failed.of(operation, code);
    for (const reason of REFUSED_REASONS) shed.of(operation, reason);
  }
  // Not part of `requests_total`: their operation is unknown.
  counters.count('requests_refused_total', 'Requests refused before their operation was known.', ['code'], {
    refused: ({ code }) => [code],
  });
  counters.time(
    'request_duration_seconds',
    'Time from request to answer. A hit in memory is only timed if its request had to wait.',
    ['operation', 'outcome'],
    { waited: ({ ms, operation, outcome }) => [ms, operation, outcome] },
    boundsUpTo(timeoutMs),
  );
  counters.count('entries_stored_total', 'Answers stored in the cache, by answer class.', ['operation', 'class'], {
    stored: ({ operation, answerClass }) => [operation, answerClass],
  });
  counters.count(
    'answers_regressed_total',
    'Answers of an indexer that were less complete than the cached one, which was served instead: replica lag.',
    ['operation'],
    {
      regressed: ({ operation }) => [operation],
    },
  );
  counters.count('lease_waits_total', 'Loads that waited for the lease of another instance.', ['operation'], {
    followed: ({ operation }) => [operation],
  });
  const older = 'Answers served that were less complete than one that clients had got before, of the keys remembered.';
  counters.count('older_answers_served_total', older, [], { 'older-answer': () => [] });
  const evicted = 'Fresh entries evicted from the memory tier: with more memory they would have been hits.';
  counters.count('memory_tier_fresh_evictions_total', evicted, [], { evicted: () => [] });
  counters.count('bodies_compressed_total', 'Answer bodies compressed with gzip.', [], { compressed: () => [] });
}

/** Every request that reached an indexer or tried to. */
function countUpstream(counters: EventCounters, timeoutMs: Ms): void {
  const help = 'Requests to each indexer by operation, and by status or failure.';
  counters.count('upstream_requests_total', help, ['upstream', 'operation', 'result'], {
    'upstream-answered': ({ indexer, operation, status }) => [indexer, operation, status],
    'upstream-failed': ({ indexer, operation, code }) => [indexer, operation, code],
  });
  counters.time(
    'upstream_request_duration_seconds',
    'Time from sending a request to an indexer to the end of its answer.',
    ['operation'],
    {
      'upstream-answered': ({ ms, operation }) => [ms, operation],
      'upstream-failed': ({ ms, operation }) => [ms, operation],
    },
    boundsUpTo(timeoutMs),
  );
}

function countRedis(counters: EventCounters): void {
  counters.count('redis_calls_total', 'Redis calls by outcome.', ['call', 'outcome'], {
    'redis-read': ({ outcome }) => ['read', outcome],
    'redis-write': ({ outcome }) => ['write', outcome],
  });
  counters.time('redis_call_duration_seconds', 'Time of calls to Redis, encoding and decoding included.', ['call'], {
    'redis-read': ({ durationMs }) => [durationMs, 'read'],
    'redis-write': ({ durationMs }) => [durationMs, 'write'],
  });
  // Including purges that did not reach Redis.
  counters.count('purges_total', 'Purges requested at this instance, by selector.', ['selector'], {
    purged: ({ selector }) => [selector],
  });
  const followed = counters.count(
    'purges_received_total',
    'Purges received from other instances, through Redis.',
    [],
    {},
  );
  counters.events.onEach({ 'purges-followed': ({ bans }) => bans }, (bans) => {
    followed.of().value += bans;
  });
}

function countRest(counters: EventCounters): void {
  const help = 'Passed-through requests that may be collapsed with equal ones, by how they were answered.';
  counters.count('passthrough_collapsible_requests_total', help, ['result'], {
    'rest-answered': ({ result }) => [result],
  });
}

function countClientStreams(counters: EventCounters): void {
  const help = 'Requests of clients to the Streaming API, by the status of their answer or the reason why they failed.';
  counters.count('client_stream_requests_total', help, ['result'], {
    'client-stream': ({ result }) => [String(result)],
  });
  counters.count('client_streams_ended_total', 'Streams of clients that ended, by reason.', ['kind', 'reason'], {
    'client-stream-ended': ({ kind, reason }) => [kind, reason],
  });
}
