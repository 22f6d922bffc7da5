import type { Refusal, RefusalReason } from '../admission/outcome.ts';
import { ProxyError } from '../errors.ts';

/**
 * Why a request was not sent to the indexer: admission refused it, its deadline passed in the queue, or
 * `http.maxWaiting` requests were waiting already.
 */
export type ShedReason = RefusalReason | 'deadline' | 'too-many-waiting';

const MESSAGES: Record<ShedReason, string> = {
  'breaker-open': 'circuit breaker open: the indexer is failing',
  deadline: 'the proxy is overloaded: the deadline passed before the indexer was asked',
  'expected-wait': 'the proxy is overloaded: the wait for the indexer would be too long',
  memory: 'the proxy is overloaded: it has hardly any memory left',
  'no-free-slot': 'the proxy is overloaded: no slot is free for a refresh',
  paused: 'the indexer asked for a pause (429)',
  'queue-full': 'the proxy is overloaded: too many requests wait for the indexer',
  'rate-limit': 'the rate limit of the indexer is used up',
  'too-many-waiting': 'the proxy is overloaded: too many requests wait for their answers',
  'waited-too-long': 'the proxy is overloaded: the indexer became slower and the wait too long',
};

/** Why a request is shed, and after how many milliseconds to try again (0: unknown). */
export interface Shed {
  readonly reason: ShedReason;
  readonly retryAfterMs: Refusal['retryAfterMs'];
}

/**
 * The failure of a request that was not sent: 503. `Retry-After` is the known wait, or else 1 to 3 seconds at random,
 * so that clients that were refused together do not come back together.
 */
export function overloaded(random: () => number, { reason, retryAfterMs }: Shed): ProxyError {
  const retryAfterSeconds = retryAfterMs > 0 ? Math.ceil(retryAfterMs / 1000) : 1 + Math.floor(random() * 3);
  return new ProxyError('overloaded', MESSAGES[reason], { retryAfterSeconds });
}
