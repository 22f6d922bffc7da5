import type { EntryRequest, Refusal } from '../admission/guard.ts';
import { ProxyError } from '../errors.ts';
import { notServedText } from '../ton/not-served.ts';
import type { OperationName } from '../ton/operations.ts';
import type { Report, ShedReason, UpstreamOperation } from './events.ts';

const MESSAGES: Record<ShedReason, string> = {
  'breaker-open': 'circuit breaker open: the indexer is failing',
  deadline: 'the proxy is overloaded: the deadline passed before the indexer was asked',
  'expected-wait': 'the proxy is overloaded: the wait for the indexer would be too long',
  memory: 'the proxy is overloaded: it has hardly any memory left',
  'no-free-slot': 'the proxy is overloaded: no slot is free for a refresh',
  paused: 'the indexer asked for a pause (429)',
  'queue-full': 'the proxy is overloaded: too many requests wait for the indexer',
  'rate-limit': 'the rate limit of the indexer is used up',
  'waited-too-long': 'the proxy is overloaded: the indexer became slower and the wait too long',
};

/** All reasons of the event `shed`: those above, and the limit of a client, which has a failure of its own. */
export const SHED_REASONS: readonly string[] = [...Object.keys(MESSAGES), 'client-limit'];

/**
 * The failure of a request that was not sent: 503. `Retry-After` is the known wait (in milliseconds; 0: unknown), or
 * else 1 to 3 seconds at random (`random`: 0 to 1), so that clients that were refused together do not come back together.
 */
export function overloaded(random: () => number, reason: ShedReason, retryAfterMs = 0): ProxyError {
  const retryAfterSeconds = retryAfterMs > 0 ? Math.ceil(retryAfterMs / 1000) : 1 + Math.floor(random() * 3);
  return new ProxyError('overloaded', MESSAGES[reason], { retryAfterSeconds });
}

/**
 * The failure of a request that admission does not let pass. Counts all but those of refreshes, and those for what the
 * indexer does not serve: that is no overload.
 */
export type Refuse = (request: Pick<EntryRequest, 'operation' | 'neverWaits'>, why: Refusal) => ProxyError;

/** Builds {@link Refuse}. `random`: 0 to 1. */
export function refuseWith(random: () => number, report: Report): Refuse {
  return ({ operation, neverWaits }, { reason, retryAfterMs }) => {
    if (reason === 'abandoned') return new ProxyError('client-left', 'nobody waits for this answer');
    if (reason === 'not-served') return new ProxyError('not-served', notServedText(operation as OperationName));
    if (neverWaits !== true) report({ name: 'shed', operation: operation as UpstreamOperation, reason });
    return overloaded(random, reason, retryAfterMs);
  };
}
