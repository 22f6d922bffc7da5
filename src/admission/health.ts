import { CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { EndPass } from './guard.ts';
import { RESULTS } from './outcome.ts';

/** So many failures in a row, of whatever operation, and an indexer is left to itself while others are well. */
const FAILURES = 3;

/** After this time one request is its trial: the others answer it if it fails. */
const TRIAL_AFTER_MS: Ms = 1000;

export interface HealthDependencies {
  readonly now: () => MonotonicMs;
  /** Called when it begins to fail, and when a trial was answered. */
  readonly onTransition: (state: 'failing' | 'well') => void;
}

/**
 * Whether the requests to one of several indexers fail. Nothing is refused because of it, the others are preferred. It
 * acts sooner than the circuit breakers of operations, because an indexer that refuses connections is free at once and
 * would attract every request.
 */
export class Health {
  readonly #breaker: CircuitBreaker;

  constructor({ now, onTransition }: HealthDependencies) {
    this.#breaker = new CircuitBreaker({
      now,
      failures: new FailuresInARow(FAILURES),
      openMs: () => TRIAL_AFTER_MS,
      onTransition: ({ state }) => onTransition(state === 'open' ? 'failing' : 'well'),
    });
  }

  /** Whether its last requests failed and it is not time for a trial. */
  get isFailing(): boolean {
    return this.#breaker.isOpen;
  }

  /** To be called when a request is sent to it, with `isFailing` or without. */
  begin(): EndPass {
    const end = this.#breaker.admit();
    return (outcome) => end?.(RESULTS[outcome]);
  }
}
