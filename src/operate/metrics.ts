import { Registry } from 'prom-client';
import { REQUEST_OUTCOMES } from '../answer/events.ts';
import type { KnownPurges } from '../cache/tiered-cache.ts';
import { type ErrorCode, UPSTREAM_FAILURES } from '../errors.ts';
import type { EventHub } from '../event-hub.ts';
import { SHED_REASONS } from '../failures/shed-reasons.ts';
import type { Ms } from '../time-units.ts';
import { addMetric, boundsUpTo, type DescribedMetric, EventCounters } from './event-counters.ts';
import { addGauges, type GaugeSources } from './gauges.ts';
import type { LogDestination } from './log-destination.ts';
import { metricsOfProcess } from './process-metrics.ts';
import type { MetricSample } from './samples.ts';

/** The failures of requests for an operation that are not the client's fault. */
const COUNTED_FAILURES: readonly ErrorCode[] = [
  ...UPSTREAM_FAILURES,
  'overloaded',
  'too-many-requests',
  'shutting-down',
  'internal',
];

export interface MetricsDependencies extends GaugeSources {
  readonly events: EventHub;
  readonly purges: KnownPurges;
  readonly logOutput: Pick<LogDestination, 'dropped' | 'waitingBytes'>;
  /** `upstream.timeout`. */
  readonly timeoutMs: Ms;
}

/** The metrics, in a registry of their own. Counters count events; gauges are read at each scrape. */
export class Metrics {
  readonly #registry = new Registry();

  constructor({ events, purges, logOutput, timeoutMs, ...sources }: MetricsDependencies) {
    for (const metric of metricsOfProcess()) this.#registry.registerMetric(metric);
    const counters = new EventCounters(this.#registry, events);
    countRequests(counters, sources.operations, timeoutMs);
    countUpstream(counters, timeoutMs);
    countRedis(counters);
    if (sources.redis !== undefined) showRedis(counters, purges);
    if (sources.push !== undefined) countStream(counters);
    if (sources.streams !== undefined) countClientStreams(counters);
    countRest(counters);
    addGauges(this.#registry, sources);
    addMetric(this.#registry, 'upstream_timeout_seconds', 'UPSTREAM_TIMEOUT.', 'gauge', [], () => [
      { value: timeoutMs / 1000, labels: {} },
    ]);
    const dropped =
      'Lines of the log that standard output did not take: a full disk, or a reader that is slow or gone.';
    addMetric(this.#registry, 'log_lines_dropped_total', dropped, 'counter', [], () => [
      { value: logOutput.dropped, labels: {} },
    ]);
    const waiting =
      'Bytes of the log that wait because standard output does not take them: up to 1 MiB, then lines are dropped.';
    addMetric(this.#registry, 'log_bytes_waiting', waiting, 'gauge', [], () => [
      { value: logOutput.waitingBytes, labels: {} },
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

  /** The numbers of the page, one by one. */
  async samples(): Promise<MetricSample[]> {
    const metrics = await this.#registry.getMetricsAsJSON();
    return metrics.flatMap(({ name, values }) =>
      values.map(({ value, labels, ...sample }): MetricSample => {
        const own = 'metricName' in sample ? sample.metricName : undefined;
        return { name: typeof own === 'string' ? own : name, labels, value };
      }),
    );
  }
}

function countRequests(counters: EventCounters, operations: readonly string[], timeoutMs: Ms): void {
  // Each request for an operation once, when it is answered; those that failed here and in `request_failures_total`.
  const answered = counters.count('requests_total', 'Requests by how they were answered.', ['operation', 'outcome'], {
    answered: ({ operation, outcome }) => [operation, outcome],
  });
  const failed = counters.count('request_failures_total', 'Requests that failed, by reason.', ['operation', 'code'], {
    failed: ({ operation, code }) => [operation, code],
  });
  // The requests of these loads may still get a stale answer.
  const shed = counters.count('shed_total', 'Loads that were not sent to the indexer.', ['operation', 'reason'], {
    shed: ({ operation, reason }) => [operation, reason],
  });
  const left = counters.count('clients_left_total', 'Requests whose client left before the answer.', ['operation'], {
    'client-left': ({ operation }) => [operation],
  });
  for (const operation of operations) {
    left.of(operation);
    for (const outcome of REQUEST_OUTCOMES) answered.of(operation, outcome);
    for (const code of COUNTED_FAILURES) failed.of(operation, code);
    for (const reason of SHED_REASONS) shed.of(operation, reason);
  }
  // Not part of `requests_total`: nobody knows which operation they are for.
  counters.count('refused_requests_total', 'Requests refused before their operation was read.', ['code'], {
    refused: ({ code }) => [code],
  });
  counters.time(
    'request_seconds',
    'How long requests took that memory did not answer.',
    ['operation', 'outcome'],
    { waited: ({ ms, operation, outcome }) => [ms, operation, outcome] },
    boundsUpTo(timeoutMs),
  );
  counters.count('stored_total', 'Entries stored, by answer class.', ['operation', 'class'], {
    stored: ({ operation, answerClass }) => [operation, answerClass],
  });
  counters.count('regressed_total', 'Answers less complete than the kept one, which was served.', ['operation'], {
    regressed: ({ operation }) => [operation],
  });
  counters.count('followed_total', 'Loads left to another instance.', ['operation'], {
    followed: ({ operation }) => [operation],
  });
  const wentBack = 'Answers served that are less complete than one of their key before, of the 4096 loaded last.';
  counters.count('went_back_total', wentBack, [], { 'went-back': () => [] });
  const evicted = 'Entries evicted from memory while they were fresh: with more memory they would have been hits.';
  counters.count('memory_evicted_total', evicted, [], { evicted: () => [] });
  counters.count('compressed_total', 'Bodies that were compressed.', [], { compressed: () => [] });
  const tooMany = 'Connections of clients that were refused.';
  counters.count('connections_refused_total', tooMany, [], { 'connection-refused': () => [] });
}

/** Every request that reached an indexer or tried to. */
function countUpstream(counters: EventCounters, timeoutMs: Ms): void {
  const help = 'Requests to each indexer by operation, and by status or failure.';
  counters.count('upstream_requests_total', help, ['upstream', 'operation', 'result'], {
    'upstream-answered': ({ indexer, operation, status }) => [indexer, operation, status],
    'upstream-failed': ({ indexer, operation, code }) => [indexer, operation, code],
  });
  counters.time(
    'upstream_request_seconds',
    'From sending a request to the indexer to the end of its answer.',
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
  counters.time('redis_call_seconds', 'How long Redis calls took, decoding and encoding included.', ['call'], {
    'redis-read': ({ durationMs }) => [durationMs, 'read'],
    'redis-write': ({ durationMs }) => [durationMs, 'write'],
  });
  // Those too that did not reach Redis.
  counters.count('purges_total', 'Purges asked for here, by what was named.', ['selector'], {
    purged: ({ selector }) => [selector],
  });
  const followed = counters.count('purges_followed_total', 'Purges of other instances, through Redis.', [], {});
  counters.events.onEach({ 'purges-followed': ({ bans }) => bans }, (bans) => {
    followed.of().value += bans;
  });
}

function showRedis(counters: EventCounters, purges: KnownPurges): void {
  const is = { connected: false, read: true, write: true };
  const help = 'Whether Redis is used (1), or is not connected or failing (0).';
  addMetric(counters.registry, 'redis_available', help, 'gauge', ['call'], () => [
    // What Redis holds is not used while it may be purged.
    { value: Number(is.connected && is.read && purges.isCurrent), labels: { call: 'read' } },
    { value: Number(is.connected && is.write), labels: { call: 'write' } },
  ]);
  counters.events.onEach({ 'redis-transition': ({ state }) => state }, (state) => {
    is.connected = state === 'connected';
  });
  counters.events.onEach({ 'redis-available': (event) => event }, ({ operation, available }) => {
    is[operation] = available;
  });
}

function countRest(counters: EventCounters): void {
  const help = 'Requests for the rest of the API that may be joined with others, by how they were answered.';
  counters.count('rest_requests_total', help, ['result'], { 'rest-answered': ({ result }) => [result] });
}

function countClientStreams(counters: EventCounters): void {
  const help = 'Requests of clients to the Streaming API, by the status of their answer or why they failed.';
  counters.count('client_streams_total', help, ['result'], { 'client-stream': ({ result }) => [String(result)] });
  counters.count('client_streams_ended_total', 'Streams of clients that ended, by why.', ['kind', 'reason'], {
    'client-stream-ended': ({ kind, reason }) => [kind, reason],
  });
}

function countStream(counters: EventCounters): void {
  counters.count('stream_events_total', 'Events that the stream sent.', [], { 'stream-event': () => [] });
  counters.count('stream_missed_events_total', 'Traces that no event announced.', [], {
    'stream-missed-event': () => [],
  });
  counters.count('stream_bad_frames_total', 'Messages that could not be read.', [], { 'stream-bad-frame': () => [] });
  counters.count('stream_refused_total', 'Errors that the stream answered with.', [], { 'stream-refused': () => [] });
}
