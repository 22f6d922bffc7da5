import type { CallResult } from '../circuit-breaker.ts';

/**
 * What the end of a request says about the indexer:
 *
 * - `answered`: it answers, if only with a 4xx, a redirect, or something too large.
 * - `failed`: it answered with a 5xx, not as its API describes, or not in time.
 * - `rate-limited`: it answered with 429.
 * - `unreachable`: no connection, or it broke before an answer came.
 * - `unknown`: nothing: the request was never sent, or its client left before the answer.
 */
export type Outcome = 'answered' | 'failed' | 'rate-limited' | 'unreachable' | 'unknown';

/** What an outcome is to a circuit breaker. */
export const RESULTS: Record<Outcome, CallResult> = {
  answered: 'success',
  failed: 'failure',
  'rate-limited': 'success',
  unreachable: 'failure',
  unknown: 'unknown',
};

/** Why a request is not sent to the indexer. */
export type RefusalReason =
  /** Nobody waits for it any more. */
  | 'abandoned'
  /** This process has hardly any memory left. */
  | 'memory'
  /** The indexer asked for a pause (429). */
  | 'paused'
  /** The circuit breaker of the operation is open. */
  | 'breaker-open'
  /** The wait for the rate limit would be longer than the client's patience. */
  | 'rate-limit'
  /** The wait in the backlog would be longer than the client's patience. */
  | 'expected-wait'
  /** No slot is free, and a refresh does not wait for one. */
  | 'no-free-slot'
  /** The backlog holds as many requests as it may. */
  | 'queue-full'
  /** The request waited in the backlog until the client's patience was over: the indexer became slower. */
  | 'waited-too-long';

/** The refusal of a request. */
export interface Refusal {
  readonly reason: RefusalReason;
  /** Milliseconds after which it may be worth asking again; 0 when that is not known. */
  readonly retryAfterMs: number;
}

/** The refusal of a request that nobody waits for. */
export const ABANDONED: Refusal = { reason: 'abandoned', retryAfterMs: 0 };
