import { CircuitBreaker, type CircuitTransition, FailuresInARow } from '../circuit-breaker.ts';
import { resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Guard } from './guard.ts';

export interface PauseDependencies {
  readonly now: () => MonotonicMs;
  /** Called when a pause begins and none was running, and when its trial was answered. */
  readonly onTransition: (transition: CircuitTransition) => void;
  /** The length of a pause when the indexer does not name one. */
  readonly defaultMs: Ms;
  /** The longest pause that is kept, whatever the indexer asks for. */
  readonly longestMs: Ms;
}

/**
 * The pause that the indexer, or the provider in front of it, asks for with 429: a circuit breaker that opens at once.
 * Until its end nothing is sent. Then one request is sent as a trial. The others follow when it is answered, unless with
 * a 5xx. After a 429 to the trial the next pause is as long as asked for, but at least twice the default, then four times
 * and so on.
 */
export function pauseOf({ now, onTransition, defaultMs, longestMs }: PauseDependencies): Guard {
  const breaker = new CircuitBreaker({
    now,
    failures: new FailuresInARow(1),
    openMs: (failedTrials, retryAfterMs) =>
      Math.min(longestMs, Math.max(retryAfterMs, failedTrials === 0 ? 0 : defaultMs * 2 ** failedTrials)),
    onTransition,
  });
  return {
    reason: 'paused',
    breaker,
    end: (endCall, outcome, _key, retryAfterMs = defaultMs) =>
      endCall(resultIn('pause', outcome), Math.min(longestMs, retryAfterMs)),
  };
}
