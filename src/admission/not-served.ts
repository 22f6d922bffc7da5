import { CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import { resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Guard } from './guard.ts';

/** After this time a client's request tries again: the indexer may have been restarted with the operation. */
const ASK_AGAIN_MS: Ms = 30_000;

export interface NotServedDependencies {
  readonly now: () => MonotonicMs;
  /** Called when the indexer reports that it does not serve the operation, and when it serves it again. */
  readonly onTransition: (isServed: boolean) => void;
}

/**
 * Guards an operation that an indexer may not serve: a circuit breaker that opens with the first such answer. While it
 * is open, requests go to the indexers that have the operation, and every 30 s one request is the trial.
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
