import type { CallResult } from '../circuit-breaker.ts';

/**
 * How a request to the indexer ended. Decided in one place, where its answer is read:
 *
 * - `answered`: with a good answer.
 * - `client-error`: with a 4xx, a redirect, or another answer that says nothing about the indexer's health.
 * - `server-error`: with a 5xx, or with an answer that its API does not describe.
 * - `rate-limited`: with 429.
 * - `timeout`: there was no answer in time; the indexer may still be working on it.
 * - `unreachable`: no connection, or it broke before an answer came.
 * - `abandoned`: its client left after it was sent; the indexer may still be working on it.
 * - `unsent`: it was never sent.
 */
export type Outcome =
  | 'answered'
  | 'client-error'
  | 'server-error'
  | 'rate-limited'
  | 'timeout'
  | 'unreachable'
  | 'abandoned'
  | 'unsent';

/** What an outcome says of the indexer. Any answer says that it is reachable and answers, even a 404 or a 429. */
export const RESULTS: Record<Outcome, CallResult> = {
  answered: 'success',
  'client-error': 'success',
  'rate-limited': 'success',
  'server-error': 'failure',
  timeout: 'failure',
  unreachable: 'failure',
  abandoned: 'unknown',
  unsent: 'unknown',
};

/** Why a request is not sent to the indexer. */
export type RefusalReason =
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
