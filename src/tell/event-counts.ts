import type { RequestKind } from '../answer/finished-request.ts';
import { REQUEST_OUTCOMES } from '../answer/phase.ts';
import { type ErrorCode, UPSTREAM_FAILURES } from '../errors.ts';
import type { EventHub } from '../event-hub.ts';
import { REFUSED_REASONS } from '../failures/refusals.ts';
import type { Ms } from '../time-units.ts';
import { boundsUpTo, type Metrics } from './metrics.ts';

/** The failures of requests that the client did not cause. */
const COUNTED_FAILURES: readonly ErrorCode[] = [
  ...UPSTREAM_FAILURES,
  'overloaded',
  'too-many-requests',
  'shutting-down',
  'internal',
];

export interface EventCountsDependencies {
  readonly metrics: Metrics;
  readonly events: EventHub;
  /** What clients may request, which is counted from 0. */
  readonly operations: readonly RequestKind[];
  readonly timeoutMs: Ms;
  /** Answers that take longer are slow. */
  readonly slowMs: Ms;
}

/** The counters that conditions and the status page read as well, since the start. */
export type EventCounts = ReturnType<typeof countEvents>;

/** Counts the events of all components from now on: each event once, for metrics, conditions and the status page. */
export function countEvents(dependencies: EventCountsDependencies) {
  const { metrics, timeoutMs, slowMs } = dependencies;
  const bounds = boundsUpTo(timeoutMs, slowMs);
  countRedis(dependencies);
  const help = 'Answered passed-through requests that can be collapsed with identical requests, by result.';
  metrics.count('passthrough_collapsible_requests_total', help, ['result'], {
    'rest-answered': ({ result }) => [result],
  });
  return {
    ...countRequests(dependencies, bounds),
    ...countUpstream(metrics, bounds),
    ...countAnswers(metrics),
    /** The bounds of the buckets of requests, in seconds, and the index of the first slow bucket. */
    bounds,
    slowFrom: bounds.indexOf(slowMs / 1000) + 1,
  };
}

function countRequests({ metrics, operations }: EventCountsDependencies, bounds: readonly number[]) {
  // Each answered request, once; failed ones here and in `request_failures_total`.
  const requests = metrics.count(
    'requests_total',
    'Requests for cached operations, passed-through requests and requests for streams, by outcome.',
    ['operation', 'outcome'],
    { answered: ({ operation, outcome }) => [operation, outcome] },
  );
  const failures = metrics.count(
    'request_failures_total',
    'Requests that failed, by error code.',
    ['operation', 'code'],
    { failed: ({ operation, error }) => [operation, error.code] },
  );
  // The requests of these loads may still get a stale answer.
  const loads = metrics.count(
    'loads_refused_total',
    'Loads that were refused, so no request was sent.',
    ['operation', 'reason'],
    { 'load-refused': ({ operation, reason }) => [operation, reason] },
  );
  const left = metrics.count(
    'client_closed_requests_total',
    'Requests whose client closed its connection before the response.',
    ['operation'],
    { 'client-closed-request': ({ operation }) => [operation] },
  );
  for (const operation of operations) {
    left.of([operation]);
    for (const outcome of REQUEST_OUTCOMES) requests.of([operation, outcome]);
    for (const code of COUNTED_FAILURES) failures.of([operation, code]);
    // Streams are among passed-through requests there.
    if (operation !== 'streaming') for (const reason of REFUSED_REASONS) loads.of([operation, reason]);
  }
  // Not part of `requests_total`: their operation is unknown.
  const refused = metrics.count(
    'requests_refused_total',
    'Requests refused before they were assigned to an operation.',
    ['code'],
    { refused: ({ code }) => [code] },
  );
  const waited = metrics.time(
    'request_duration_seconds',
    'Time from request to response, for cached operations. Hits in memory are timed only if the request had to wait.',
    ['operation', 'outcome'],
    { waited: ({ ms, operation, outcome }) => [ms, [operation, outcome]] },
    bounds,
  );
  return { requests, failures, refused, waited };
}

function countAnswers(metrics: Metrics) {
  metrics.count('entries_stored_total', 'Responses that were stored in the cache, by class.', ['operation', 'class'], {
    stored: ({ operation, answerClass }) => [operation, answerClass],
  });
  metrics.count(
    'answers_regressed_total',
    'Responses from an indexer that were less complete than the cached response, usually because a replica lags. Clients got the cached response.',
    ['operation'],
    { regressed: ({ operation }) => [operation] },
  );
  metrics.count('lease_waits_total', 'Loads that waited because another instance had the lease.', ['operation'], {
    followed: ({ operation }) => [operation],
  });
  const older = 'Served responses that were less complete than an earlier response that toncache remembers.';
  const evicted = 'Fresh entries evicted from the memory tier. With more memory, they could have been hits.';
  metrics.count('bodies_compressed_total', 'Response bodies compressed with gzip.', [], { compressed: () => [] });
  return {
    olderAnswers: metrics.count('older_answers_served_total', older, [], { 'older-answer': () => [] }),
    evicted: metrics.count('memory_tier_fresh_evictions_total', evicted, [], { evicted: () => [] }),
  };
}

/** Every request that reached an indexer or tried to. */
function countUpstream(metrics: Metrics, bounds: readonly number[]) {
  return {
    sent: metrics.count<readonly [string, string, number | ErrorCode]>(
      'upstream_requests_total',
      'Requests to each indexer by operation, and by status or failure.',
      ['upstream', 'operation', 'result'],
      {
        'upstream-answered': ({ indexer, operation, status }) => [indexer, operation, status],
        'upstream-failed': ({ indexer, operation, code }) => [indexer, operation, code],
      },
    ),
    sentTimes: metrics.time(
      'upstream_request_duration_seconds',
      'Time from sending a request to an indexer to the end of its response.',
      ['operation'],
      {
        'upstream-answered': ({ ms, operation }) => [ms, [operation]],
        'upstream-failed': ({ ms, operation }) => [ms, [operation]],
      },
      bounds,
    ),
  };
}

function countRedis({ metrics, events }: EventCountsDependencies): void {
  metrics.count<readonly [string, string]>('redis_calls_total', 'Redis calls by outcome.', ['call', 'outcome'], {
    'redis-read': ({ outcome }) => ['read', outcome],
    'redis-write': ({ outcome }) => ['write', outcome],
  });
  metrics.time('redis_call_duration_seconds', 'Duration of Redis calls, including encoding and decoding.', ['call'], {
    'redis-read': ({ durationMs }) => [durationMs, ['read']],
    'redis-write': ({ durationMs }) => [durationMs, ['write']],
  });
  // Including purges that did not reach Redis.
  metrics.count('purges_total', 'Purges requested at this instance, by selector.', ['selector'], {
    purged: ({ selector }) => [selector],
  });
  const help = 'Purges received from other instances, through Redis.';
  const received = metrics.count('purges_received_total', help, [], {});
  events.on('purges-followed', ({ bans }) => {
    received.of([]).value += bans;
  });
}
