import { Counter, Gauge, Registry } from 'prom-client';
import type { AppEvent } from '../event-hub.ts';
import { addGauges, type GaugeSources, OPERATIONS } from './gauges.ts';
import { IndexerMetrics } from './indexer-metrics.ts';
import { startAtZero } from './known-labels.ts';
import { metricsOfProcess } from './process-metrics.ts';
import type { MetricSample } from './samples.ts';
import { StreamMetrics } from './stream-metrics.ts';
import { boundsUpTo, DurationTally, SECONDS, Tally } from './tallies.ts';

export interface MetricsDependencies {
  /** A number that only grows. */
  readonly logLinesDropped: () => number;
  /** `upstream.timeout`, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether there is a Redis at all. */
  readonly usesRedis: boolean;
  /** Whether there is a stream of events: the page has nothing about it where there is none. */
  readonly usesStream: boolean;
}

/** The metrics, in a registry of their own. Counters count events; gauges are read at each scrape. */
export class Metrics {
  readonly #registry = new Registry();
  /** Requests for an operation, each counted once when it is answered. */
  readonly #answered = this.#tally('requests_total', 'Requests by how they were answered.', ['operation', 'outcome']);
  /** The requests that failed, which are also counted in `requests_total`. */
  readonly #failed = this.#tally('request_failures_total', 'Requests that failed, by reason.', ['operation', 'code']);
  /** Not part of `requests_total`: nobody knows which operation they are for. */
  readonly #refused = this.#tally(
    'refused_requests_total',
    'Requests that were refused before their operation was read.',
    ['code'],
  );
  /** Loads and waits that were refused on the way to the indexer. Their requests may still get a stale answer. */
  readonly #shed = this.#tally('shed_total', 'Loads that were not sent to the indexer.', ['operation', 'reason']);
  /** Every request that reached the indexer or tried to. */
  readonly #upstream = this.#tally('upstream_requests_total', 'Requests to the indexer.', ['operation', 'result']);
  readonly #upstreamSeconds: DurationTally;
  readonly #requestSeconds: DurationTally;
  readonly #stored = this.#tally('stored_total', 'Entries stored, by answer class.', ['operation', 'class']);
  readonly #compressed = this.#counter('compressed_total', 'Bodies that were compressed.');
  /** The client got the more complete answer that was kept. */
  readonly #regressed = this.#tally(
    'regressed_total',
    'Answers of the indexer that were less complete than the kept one, which was served instead.',
    ['operation'],
  );
  readonly #followed = this.#tally('followed_total', 'Loads left to another instance.', ['operation']);
  readonly #redisCalls = this.#tally('redis_calls_total', 'Redis calls by outcome.', ['call', 'outcome']);
  readonly #redisSeconds = this.#durations(
    'redis_call_seconds',
    'How long Redis calls took, decoding and encoding included.',
    ['call'],
  );
  readonly #redisAvailable = this.#gauge(
    'redis_available',
    'Whether Redis is used (1), or is not connected or failing (0).',
    ['call'],
  );

  /** Purges that this instance was asked for, including those that did not reach Redis. */
  readonly #purges = this.#tally('purges_total', 'Purges asked for here, by what was named.', ['selector']);
  readonly #purgesFollowed = this.#counter(
    'purges_followed_total',
    'Purges that came from other instances through Redis.',
  );

  readonly #indexers = new IndexerMetrics(this.#registry);
  readonly #refusedConnections = this.#counter(
    'connections_refused_total',
    'Connections of clients that were refused: there were too many.',
  );

  readonly #stream: StreamMetrics | undefined;

  readonly #redis = { connected: false, read: true, write: true };

  constructor({ logLinesDropped, timeoutMs, usesRedis, usesStream }: MetricsDependencies) {
    for (const metric of metricsOfProcess()) this.#registry.registerMetric(metric);
    if (usesStream) this.#stream = new StreamMetrics(this.#registry);
    this.#upstreamSeconds = this.#durations(
      'upstream_request_seconds',
      'From sending a request to the indexer to the end of its answer.',
      ['operation'],
      boundsUpTo(timeoutMs),
    );
    this.#requestSeconds = this.#durations(
      'request_seconds',
      'How long requests took that memory did not answer, from their head to their answer.',
      ['operation', 'outcome'],
      boundsUpTo(timeoutMs),
    );
    if (usesRedis) this.#showRedis();
    startAtZero({ answered: this.#answered, failed: this.#failed, shed: this.#shed });
    new Counter({
      name: 'toncache_log_lines_dropped_total',
      help: 'Lines of the log that standard output did not take: a full disk, or a reader that is slow or gone.',
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(logLinesDropped());
      },
    });
  }

  /** Adds the gauges to the page. To be called once, when the components that they read exist. */
  readGauges(sources: GaugeSources): void {
    addGauges(this.#registry, sources);
    this.#indexers.readGauges(sources.indexers, OPERATIONS);
    if (sources.stream !== undefined) this.#stream?.readGauges(sources.stream);
  }

  readonly onEvent = (event: AppEvent): void => {
    switch (event.name) {
      case 'answered':
        this.#answered.add(event.operation, event.outcome);
        break;
      case 'waited':
        this.#requestSeconds.add(event.ms, event.operation, event.outcome);
        break;
      case 'failed':
        this.#failed.add(event.operation, event.code);
        break;
      case 'refused':
        this.#refused.add(event.code);
        break;
      case 'shed':
        this.#shed.add(event.operation, event.reason);
        break;
      case 'upstream-answered':
        this.#upstream.add(event.operation, event.status);
        this.#upstreamSeconds.add(event.ms, event.operation);
        this.#indexers.onEvent(event);
        break;
      case 'upstream-failed':
        this.#upstream.add(event.operation, event.code);
        this.#upstreamSeconds.add(event.ms, event.operation);
        this.#indexers.onEvent(event);
        break;
      case 'stored':
        this.#stored.add(event.operation, event.answerClass);
        break;
      case 'regressed':
        this.#regressed.add(event.operation);
        break;
      case 'followed':
        this.#followed.add(event.operation);
        break;
      case 'redis-read':
        this.#countRedisCall('read', event.outcome, event.durationMs);
        break;
      case 'redis-write':
        this.#countRedisCall('write', event.outcome, event.durationMs);
        break;
      case 'redis-available':
        this.#redis[event.operation] = event.available;
        this.#showRedis();
        break;
      case 'redis-transition':
        this.#redis.connected = event.state === 'connected';
        this.#showRedis();
        break;
      case 'purged':
        this.#purges.add(event.selector);
        break;
      case 'purges-followed':
        this.#purgesFollowed.inc(event.bans);
        break;
      default:
        this.#indexers.onEvent(event);
        this.#stream?.onEvent(event);
    }
  };

  readonly onPacked = (): void => this.#compressed.inc();

  readonly onConnectionRefused = (): void => this.#refusedConnections.inc();

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

  #countRedisCall(call: 'read' | 'write', outcome: string, ms: number): void {
    this.#redisCalls.add(call, outcome);
    this.#redisSeconds.add(ms, call);
  }

  #showRedis(): void {
    const { connected, ...closed } = this.#redis;
    this.#redisAvailable.set({ call: 'read' }, connected && closed.read ? 1 : 0);
    this.#redisAvailable.set({ call: 'write' }, connected && closed.write ? 1 : 0);
  }

  #tally(name: string, help: string, labelNames: readonly string[]): Tally {
    return new Tally(this.#registry, { name: `toncache_${name}`, help, labelNames });
  }

  #durations(name: string, help: string, labelNames: readonly string[], bounds = SECONDS): DurationTally {
    return new DurationTally(this.#registry, { name: `toncache_${name}`, help, labelNames }, bounds);
  }

  #gauge(name: string, help: string, labelNames: readonly string[] = []): Gauge {
    return new Gauge({ name: `toncache_${name}`, help, labelNames: [...labelNames], registers: [this.#registry] });
  }

  /** A counter for rare events; {@link Tally} is for frequent ones. */
  #counter(name: string, help: string): Counter {
    return new Counter({ name: `toncache_${name}`, help, registers: [this.#registry] });
  }
}
