import { REQUEST_OUTCOMES, type RequestOutcome } from '../../answer/events.ts';
import { OUTCOMES, outcomeOfResult } from '../../outcomes.ts';
import { Growth, type Samples } from '../samples.ts';

/** Requests a second by outcome; refused requests are separate from failed ones. */
type Rates = Readonly<Record<RequestOutcome | 'refused', number>>;

/** The codes of failures that are refusals by this process, not failures of the indexer. */
const REFUSALS = ['overloaded', 'shutting-down', 'too-many-requests'];

/** The numbers of the status page. Rates, ratios and quantiles are undefined without requests. */
export type StatusNumbers = ReturnType<typeof readNumbers>;

/** The counts up to an instant. */
export type Counted = ReturnType<typeof countedIn>;

/** The answered requests, the requests to indexers for them (without pass-through), and the served older answers. */
export function countedIn(samples: Samples) {
  const requests = (outcome?: RequestOutcome) => samples.sum('requests_total', outcome && { outcome });
  return {
    at: samples.at,
    answered: requests() - requests('invalid') - requests('failed'),
    sent: samples.sum('upstream_requests_total') - samples.sum('upstream_requests_total', { operation: 'passthrough' }),
    olderAnswers: samples.sum('older_answers_served_total'),
  };
}

/** Computes the numbers from the samples of the last 10 s, oldest first; at least one. */
export function readNumbers(samples: readonly [Samples, ...Samples[]]) {
  const [oldest] = samples;
  const newest = samples.at(-1) ?? oldest;
  const before = samples.at(-2);
  const growth = new Growth(oldest, newest);
  const lately = new Growth(samples[Math.floor(samples.length / 2)] ?? oldest, newest);
  const window = ratesOf(growth);
  const valid = Object.values(window).reduce((sum, rate) => sum + rate, -window.invalid);
  const answered = valid - window.refused - window.failed;
  const hits = window['hit-memory'] + window['hit-redis'] + window['hit-proven'] + window.stale;
  // Includes refreshes, retries and head polls.
  const passed = growth.perSecond('upstream_requests_total', { operation: 'passthrough' });
  const sent = growth.perSecond('upstream_requests_total') - passed;
  return {
    /** Requests a second since the previous samples. */
    rates: before && ratesOf(new Growth(before, newest)),
    /** The share of the requests of the last 10 s that the cache answered, 0 to 1. */
    hitRatio: valid > 0 ? hits / valid : undefined,
    /** The share of the requests of the last 10 s that were answered, 0 to 1. */
    answeredRatio: valid > 0 ? answered / valid : undefined,
    /** The share of the answers of the last 10 s without a request of their own to the indexer, 0 to 1. */
    savedRatio: answered > 0 ? Math.min(1, Math.max(0, 1 - sent / answered)) : undefined,
    latency: { p50Seconds: latencyIn(growth, {}, 0.5), p99Seconds: latencyIn(growth, {}, 0.99) },
    /** Each operation. */
    operations: [...new Set(newest.of('requests_total').map(({ labels }) => String(labels['operation'])))].map(
      (operation) => operationIn(growth, lately, operation),
    ),
    upstream: {
      p50Seconds: growth.quantile('upstream_request_duration_seconds', 0.5),
      p99Seconds: growth.quantile('upstream_request_duration_seconds', 0.99),
      inFlight: newest.sum('upstream_requests_in_flight'),
      limit: newest.sum('upstream_concurrency_limit'),
      queued: newest.sum('upstream_requests_queued'),
      expectedWaitSeconds: Math.max(0, ...valuesOf(newest, 'upstream_expected_wait_seconds')),
      paused: newest.sum('upstream_paused') > 0,
      /** Requests a second to backups. */
      backupPerSecond: backupsOf(newest).reduce((sum, is) => sum + growth.perSecond('upstream_requests_total', is), 0),
    },
    memory: {
      bytes: newest.sum('memory_tier_bytes'),
      maxBytes: newest.sum('memory_tier_max_bytes'),
      entries: newest.sum('memory_tier_entries'),
      /** Evicted fresh entries a second. */
      evictedPerSecond: growth.perSecond('memory_tier_fresh_evictions_total'),
    },
    process: {
      rssBytes: newest.sum('process_resident_memory_bytes'),
      heapBytes: newest.sum('nodejs_heap_size_used_bytes'),
      loopLagSeconds: newest.sum('nodejs_eventloop_lag_p99_seconds'),
    },
    /** The proof of answers about accounts; `undefined` without one. */
    proof: proofIn(newest),
    redis: stateOf(valuesOf(newest, 'redis_available'), 'used', 'failed'),
    /** Open streams of clients; `undefined` without pass-through. */
    clientStreams: sumOf(valuesOf(newest, 'client_streams')),
    /** The newest known masterchain block of all indexers. */
    newestSeqno: newest.sum('newest_masterchain_seqno') || undefined,
    /** Its age at the last head poll, negative if it is ahead of our clock; `undefined` without head polls. */
    newestAgeSeconds: leastOf(valuesOf(newest, 'upstream_head_age_seconds')),
    /** Time by which the clock of Redis is ahead of this machine's. */
    redisAheadSeconds: newest.sum('redis_clock_offset_seconds'),
    /** Each of several indexers; empty for a single one. */
    upstreams: indexersIn(growth),
  };
}

/** A quantile of the latency of clients. Hits in memory are not timed: they count as faster than all timed requests. */
function latencyIn(growth: Growth, labels: Readonly<Record<string, string>>, part: number): number | undefined {
  const atOnce =
    growth.of('requests_total', { ...labels, outcome: 'hit-memory' }) +
    growth.of('requests_total', { ...labels, outcome: 'hit-proven' });
  return growth.quantile('request_duration_seconds', part, labels, atOnce);
}

function proofIn(newest: Samples) {
  const state = newest.of('block_follower_state').find(({ value }) => value > 0)?.labels['state'];
  if (state === undefined) return undefined;
  return {
    state: String(state),
    /** The newest block that was read. */
    block: newest.sum('block_follower_seqno'),
    /** The number of kept answers that blocks may prove. */
    entries: newest.sum('proof_entries'),
  };
}

function operationIn(growth: Growth, lately: Growth, operation: string) {
  const is = { operation };
  const { valid, hits, failed } = partsOf(growth, is);
  const without = (name: string) =>
    growth.after.of(name, is).flatMap(({ value, labels }) => (value > 0 ? [String(labels['upstream'])] : []));
  return {
    operation,
    /** Requests a second, over 10 s, and those without an answer. */
    perSecond: valid,
    failedPerSecond: failed,
    hitRatio: valid > 0 ? hits / valid : undefined,
    p99Seconds: latencyIn(growth, is, 0.99),
    /** The indexers at which its circuit breaker is open, and those that do not serve it. */
    breakersOpenAt: without('circuit_breaker_open'),
    notServedBy: without('upstream_operation_not_served'),
    /** Why its circuit breaker is closed although requests fail. */
    closedDespite: failed > 0 ? closedDespiteIn(growth, lately, operation) : undefined,
  };
}

/** With enough keys, a circuit breaker opens when this part of them fails. */
const OPENING_PART = 0.5;

/**
 * Why the circuit breaker of a failing operation is closed, if it is: too few keys, too few failed keys, or failures of
 * a kind that it does not count. `undefined` if the failures seem to be over: then it may have been open.
 */
function closedDespiteIn(growth: Growth, lately: Growth, operation: string) {
  const results = growth.after
    .of('upstream_requests_total', { operation })
    .map(({ labels }) => String(labels['result']));
  const counted = [...new Set(results)].filter((result) =>
    ['operation', 'all'].includes(OUTCOMES[outcomeOfResult(result)].failureOf),
  );
  const count = (within: Growth) =>
    counted.reduce((sum, result) => sum + within.of('upstream_requests_total', { operation, result }), 0);
  const failed = count(growth);
  if (failed === 0) return 'not-counted';
  const sent = growth.of('upstream_requests_total', { operation });
  if (failed < OPENING_PART * sent) return 'few-failures';
  return count(lately) > 0 ? 'few-keys' : undefined;
}

/** Valid requests a second, and the hits and unanswered ones among them. */
function partsOf(growth: Growth, labels: Readonly<Record<string, string>> = {}) {
  const rate = (outcome: RequestOutcome) => growth.perSecond('requests_total', { ...labels, outcome });
  return {
    valid: growth.perSecond('requests_total', labels) - rate('invalid'),
    hits: rate('hit-memory') + rate('hit-redis') + rate('hit-proven') + rate('stale'),
    failed: rate('failed'),
  };
}

/** The labels of all backups. */
function backupsOf(samples: Samples) {
  return samples
    .of('upstream_backup')
    .flatMap(({ value, labels }) => (value > 0 ? [{ upstream: String(labels['upstream']) }] : []));
}

function indexersIn(growth: Growth) {
  const { after } = growth;
  const names = after.of('upstream_head_seqno').map(({ labels }) => String(labels['upstream']));
  if (names.length < 2) return [];
  return names.map((upstream) => {
    const is = { upstream };
    const all = growth.of('upstream_requests_total', is);
    const isBackup = after.sum('upstream_backup', is) > 0;
    const isUnresponsive = after.sum('upstream_unresponsive', is) > 0;
    return {
      upstream,
      isBackup,
      state: stateOfIndexer(after, is),
      seqno: after.sum('upstream_head_seqno', is) || undefined,
      ageSeconds: leastOf(after.of('upstream_head_age_seconds', is).map(({ value }) => value)),
      /** `undefined` while unknown: backups are not polled. */
      lagBlocks: isBackup || isUnresponsive ? undefined : after.sum('upstream_lag_blocks', is),
      slotsInUse: after.sum('upstream_slots_in_use', is),
      /** The longest request time of the last seconds. */
      peakSeconds: after.sum('upstream_peak_latency_seconds', is),
      /** Requests a second, over 10 s, and the failed ones among them. */
      perSecond: all / growth.seconds,
      failedPerSecond: (all - growth.good(is)) / growth.seconds,
    };
  });
}

function stateOfIndexer(samples: Samples, is: { readonly upstream: string }) {
  if (samples.sum('upstream_paused', is) > 0) return 'paused';
  if (samples.sum('upstream_unhealthy', is) > 0) return 'unhealthy';
  if (samples.sum('upstream_head_check_failed', { ...is, reason: 'lacks-block' }) > 0) return 'lacks blocks';
  if (samples.sum('upstream_head_check_failed', { ...is, reason: 'other-chain' }) > 0) return 'another chain';
  if (samples.sum('upstream_unresponsive', is) > 0) return 'unresponsive';
  return samples.sum('upstream_behind', is) > 0 ? 'behind' : 'healthy';
}

function ratesOf(growth: Growth): Rates {
  const refusedLoads = REFUSALS.reduce((sum, code) => sum + growth.perSecond('request_failures_total', { code }), 0);
  const rates = REQUEST_OUTCOMES.map((outcome) => [outcome, growth.perSecond('requests_total', { outcome })]);
  return {
    ...Object.fromEntries(rates),
    refused: refusedLoads + growth.perSecond('requests_refused_total', { code: 'too-many-requests' }),
    failed: growth.perSecond('requests_total', { outcome: 'failed' }) - refusedLoads,
  };
}

function valuesOf(samples: Samples, name: string): number[] {
  return samples.of(name).map(({ value }) => value);
}

function sumOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function leastOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.min(...values);
}

/** Bad if one of the values is 0. */
function stateOf<Good, Bad>(values: readonly number[], good: Good, bad: Bad): 'not configured' | Good | Bad {
  if (values.length === 0) return 'not configured';
  return values.every((value) => value > 0) ? good : bad;
}
