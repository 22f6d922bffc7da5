import type { Outcome } from '../proxy/events.ts';
import { quantileBetween, type Scrape } from './scrape.ts';

/** How a request was answered, in the words of the page. */
export type ShownOutcome = 'memory' | 'redis' | 'stale' | 'coalesced' | 'miss' | 'refused' | 'error' | 'invalid';

/** The numbers of the status page. Rates and quantiles are absent where nothing was counted. */
export interface StatusNumbers {
  /** Requests a second since the last message; absent in the first one. */
  readonly rates?: Readonly<Record<ShownOutcome, number>>;
  /** The part of the requests of the last 10 s that the cache answered, 0 to 1. */
  readonly hitRatio?: number;
  /** The part of the requests of the last 10 s that needed no request of their own to the indexer, 0 to 1. */
  readonly savedRatio?: number;
  readonly upstream: {
    readonly p50Seconds?: number;
    readonly p99Seconds?: number;
    readonly inFlight: number;
    readonly limit: number;
    readonly queued: number;
    readonly expectedWaitSeconds: number;
    readonly paused: boolean;
    /** The operations whose circuit breaker is open. */
    readonly openBreakers: readonly string[];
  };
  readonly memory: { readonly bytes: number; readonly maxBytes: number; readonly entries: number };
  readonly process: { readonly rssBytes: number; readonly heapBytes: number; readonly loopLagSeconds: number };
  readonly redis: 'not configured' | 'used' | 'failed';
  readonly stream: 'not configured' | 'connected' | 'lost';
  /** The newest masterchain block that the indexer is known to have. */
  readonly newestSeqno?: number;
}

const SHOWN_AS: Record<Exclude<Outcome, 'failed'>, ShownOutcome> = {
  'hit-memory': 'memory',
  'hit-redis': 'redis',
  stale: 'stale',
  collapsed: 'coalesced',
  miss: 'miss',
  invalid: 'invalid',
};

const SHOWN_OUTCOMES: readonly ShownOutcome[] = [...Object.values(SHOWN_AS), 'refused', 'error'];

/** The codes of failures that are refusals by this process, not failures of the indexer. */
const REFUSALS = ['overloaded', 'shutting-down'];

/** Computes the numbers from the scrapes of the last 10 s, oldest first; at least one. */
export function readNumbers(scrapes: readonly [Scrape, ...Scrape[]]): StatusNumbers {
  const [oldest] = scrapes;
  const newest = scrapes.at(-1) ?? oldest;
  const before = scrapes.at(-2);
  const window = countsBetween(oldest, newest);
  const valid = totalOf(window) - window.invalid;
  const sent = sentFor(newest) - sentFor(oldest);
  const [p50, p99] = [0.5, 0.99].map((each) => quantileBetween(oldest, newest, 'upstream_request_seconds', each));
  const newestSeqno = newest.max('newest_masterchain_seqno');
  return {
    ...(before && { rates: ratesBetween(before, newest) }),
    ...(valid > 0 && {
      hitRatio: (window.memory + window.redis + window.stale) / valid,
      savedRatio: Math.min(1, Math.max(0, 1 - sent / valid)),
    }),
    upstream: {
      ...(p50 !== undefined && { p50Seconds: p50 }),
      ...(p99 !== undefined && { p99Seconds: p99 }),
      inFlight: newest.sum('upstream_in_flight'),
      limit: newest.sum('upstream_concurrency_limit'),
      queued: newest.sum('upstream_queued'),
      expectedWaitSeconds: newest.max('upstream_expected_wait_seconds'),
      paused: newest.sum('upstream_paused') > 0,
      openBreakers: newest
        .of('breaker_open')
        .flatMap(({ labels, value }) => (value > 0 ? `${labels['operation']}` : [])),
    },
    memory: {
      bytes: newest.sum('memory_bytes'),
      maxBytes: newest.sum('memory_max_bytes'),
      entries: newest.sum('memory_entries'),
    },
    process: {
      rssBytes: newest.sum('process_resident_memory_bytes'),
      heapBytes: newest.sum('nodejs_heap_size_used_bytes'),
      loopLagSeconds: newest.sum('nodejs_eventloop_lag_p99_seconds'),
    },
    redis: stateOf(newest.min('redis_available'), 'used', 'failed'),
    stream: stateOf(newest.min('stream_connected'), 'connected', 'lost'),
    ...(newestSeqno > 0 && { newestSeqno }),
  };
}

type Counts = Record<ShownOutcome, number>;

function countsAt(scrape: Scrape): Counts {
  const counts = Object.fromEntries(SHOWN_OUTCOMES.map((outcome) => [outcome, 0])) as Counts;
  for (const [outcome, shown] of Object.entries(SHOWN_AS)) counts[shown] += scrape.sum('requests_total', { outcome });
  for (const code of REFUSALS) counts.refused += scrape.sum('request_failures_total', { code });
  counts.error = scrape.sum('requests_total', { outcome: 'failed' }) - counts.refused;
  return counts;
}

function countsBetween(before: Scrape, after: Scrape): Counts {
  const [then, now] = [countsAt(before), countsAt(after)];
  for (const outcome of SHOWN_OUTCOMES) now[outcome] -= then[outcome];
  return now;
}

function ratesBetween(before: Scrape, after: Scrape): Counts {
  const counts = countsBetween(before, after);
  const seconds = (after.at - before.at) / 1000;
  for (const outcome of SHOWN_OUTCOMES) counts[outcome] /= seconds;
  return counts;
}

function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** All requests to the indexer except pass-through, including refreshes, retries and questions for the head. */
function sentFor(scrape: Scrape): number {
  return scrape.sum('upstream_requests_total') - scrape.sum('upstream_requests_total', { operation: 'passThrough' });
}

function stateOf<Good, Bad>(value: number | undefined, good: Good, bad: Bad): 'not configured' | Good | Bad {
  if (value === undefined) return 'not configured';
  return value > 0 ? good : bad;
}
