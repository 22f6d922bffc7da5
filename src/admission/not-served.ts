import { CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import { resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { type Guard, guardBy } from './guard.ts';

/** After this time a client's request tries again: the indexer may have been restarted with the operation. */
const ASK_AGAIN_MS: Ms = 30_000;

/**
 * Guards an operation that an indexer may not serve: a circuit breaker that opens with the first such answer. While it
 * is open, requests go to the indexers that have the operation, and every 30 s one request is the trial. `onTransition` is
 * called when the indexer reports that it does not serve the operation, and when it serves it again.
 */
export function notServedGuard(now: () => MonotonicMs, onTransition: (isServed: boolean) => void): Guard {
  const breaker = new CircuitBreaker({
    now,
    failures: new FailuresInARow(1),
    openMs: () => ASK_AGAIN_MS,
    onTransition: ({ state }) => onTransition(state === 'closed'),
  });
  return guardBy('not-served', breaker, (endCall, outcome) => endCall(resultIn('not-served', outcome)));
}
