import { ProxyError } from '../errors.ts';
import type { ShedReason } from './events.ts';

/** Why nothing is sent now, and for how long at least, in milliseconds (0 when that is not known). */
export interface Refusal {
  readonly reason: ShedReason;
  readonly waitMs: number;
}

const MESSAGES: Record<ShedReason, string> = {
  'breaker-open': 'the indexer fails and is left alone for a while',
  deadline: 'the indexer had no time for this request before its deadline',
  paused: 'the indexer asked for a pause',
  'process-exhausted': 'the proxy has no more to give at the moment',
  'queue-full': 'too many requests for the indexer are waiting',
  'rate-limit': 'the rate that the indexer allows is used up',
  'waited-too-long': 'too many requests for the indexer are waiting',
};

/**
 * The failure of a request that was shed: `Retry-After` is the known wait, else 1 to 3 seconds at random, so that those
 * who were shed together do not come back together.
 */
export function overloaded(random: () => number, { reason, waitMs }: Refusal): ProxyError {
  const retryAfterSeconds = waitMs > 0 ? Math.ceil(waitMs / 1000) : 1 + Math.floor(random() * 3);
  return new ProxyError('overloaded', MESSAGES[reason], { retryAfterSeconds });
}
