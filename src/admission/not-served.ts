import { CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import { resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Guard } from './guard.ts';

/** After this time a request of a client asks again: the indexer may have been started anew, with the operation. */
const ASK_AGAIN_MS: Ms = 30_000;

export interface NotServedDependencies {
  readonly now: () => MonotonicMs;
  /** Called when the indexer says that it does not serve the operation, and when it serves it again. */
  readonly onTransition: (isServed: boolean) => void;
}

/**
 * What an indexer says of an operation that it does not serve: a circuit breaker that opens at once. While it is open the
 * operation is asked for at the indexers that have it, and each 30 s one request is the trial.
 */
export function notServedGuard({ now, onTransition }: NotServedDependencies): Guard {
  return {
    reason: 'not-served',
    breaker: new CircuitBreaker({
      now,
      failures: new FailuresInARow(1),
      openMs: () => ASK_AGAIN_MS,
      onTransition: ({ state }) => onTransition(state === 'closed'),
    }),
    end: (endCall, outcome) => endCall(resultIn('not-served', outcome)),
  };
}
