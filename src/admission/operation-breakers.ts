import { CircuitBreaker } from '../circuit-breaker.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { FailedKeys } from './failed-keys.ts';
import type { EndPass, Guard } from './guard.ts';
import { RESULTS } from './outcome.ts';

/** Half of an operation's keys of the last 10 s have to fail before its breaker opens. */
const [FAILURE_RATE, WINDOW_MS] = [0.5, 10_000];

/** Jitter only shortens the open duration, by at most this part, so that `longestOpenDuration` stays the maximum. */
const JITTER = 0.5;

export interface OperationBreakersDependencies<Name extends string> {
  readonly now: () => MonotonicMs;
  /** 0 to 1. */
  readonly random: () => number;
  readonly onTransition: (operation: Name, state: 'open' | 'closed') => void;
  /** The fewest keys of which half must fail before a breaker opens. */
  readonly minimumThroughput: number;
  /** The open duration before a trial. Each failed trial doubles it, up to `longestOpenDuration`. */
  readonly openDuration: Ms;
  readonly longestOpenDuration: Ms;
}

/**
 * Builds a circuit breaker for each operation. An indexer that cannot be reached counts as a failure in all of them, and
 * the first that closes lets the others try at once: the indexer is back, probably for all.
 */
export function operationBreakers<Name extends string>(
  operations: readonly Name[],
  { now, random, onTransition, ...settings }: OperationBreakersDependencies<Name>,
): ReadonlyMap<string, readonly [Guard]> {
  const { minimumThroughput, openDuration, longestOpenDuration } = settings;
  const breakers = operations.map(
    (operation) =>
      new CircuitBreaker({
        now,
        failures: new FailedKeys({ now, failureRate: FAILURE_RATE, minimumThroughput, windowMs: WINDOW_MS }),
        openMs: (failedTrials) =>
          Math.min(openDuration * 2 ** failedTrials, longestOpenDuration) * (1 - JITTER * random()),
        onTransition: ({ state }) => {
          onTransition(operation, state);
          if (state === 'closed') for (const other of breakers) other.tryNow();
        },
      }),
  );
  const onUnreachable = (key: string) => {
    for (const breaker of breakers) breaker.count(key, 'failure');
  };
  return new Map(
    breakers.map((breaker, index) => [operations[index] ?? '', [new OperationBreaker(breaker, onUnreachable)]]),
  );
}

class OperationBreaker implements Guard {
  readonly reason = 'breaker-open';
  readonly #breaker: CircuitBreaker;
  readonly #onUnreachable: (key: string) => void;

  constructor(breaker: CircuitBreaker, onUnreachable: (key: string) => void) {
    this.#breaker = breaker;
    this.#onUnreachable = onUnreachable;
  }

  get isOpen(): boolean {
    return this.#breaker.isOpen;
  }

  get retryAfterMs(): number {
    return this.#breaker.retryAfterMs;
  }

  admit(key: string): EndPass | undefined {
    const end = this.#breaker.admit(key);
    return (
      end &&
      ((outcome) => {
        if (outcome === 'unreachable') this.#onUnreachable(key);
        end(RESULTS[outcome]);
      })
    );
  }
}
