import { CircuitBreaker, type CircuitTransition, FailuresInARow } from '../circuit-breaker.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { EndPass, Guard } from './guard.ts';

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
export class Pause implements Guard {
  readonly reason = 'paused';
  readonly #dependencies: PauseDependencies;
  readonly #breaker: CircuitBreaker;

  constructor(dependencies: PauseDependencies) {
    const { now, onTransition } = dependencies;
    this.#dependencies = dependencies;
    this.#breaker = new CircuitBreaker({
      now,
      failures: new FailuresInARow(1),
      openMs: (failedTrials, askedMs) => {
        const leastMs = failedTrials === 0 ? 0 : dependencies.defaultMs * 2 ** failedTrials;
        return Math.min(dependencies.longestMs, Math.max(askedMs, leastMs));
      },
      onTransition,
    });
  }

  get isOpen(): boolean {
    return this.#breaker.isOpen;
  }

  get retryAfterMs(): Ms {
    return this.#breaker.retryAfterMs;
  }

  admit(): EndPass | undefined {
    const { defaultMs, longestMs } = this.#dependencies;
    const end = this.#breaker.admit();
    return (
      end &&
      ((outcome, askedMs = defaultMs) => {
        if (outcome === 'rate-limited') end('failure', Math.min(longestMs, askedMs));
        else end(outcome === 'answered' ? 'success' : 'unknown');
      })
    );
  }
}
