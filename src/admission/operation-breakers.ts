import { CircuitBreaker, type FailureCount } from '../circuit-breaker.ts';
import { OUTCOMES, resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Guard } from './guard.ts';

export interface FailedKeysDependencies {
  readonly now: () => MonotonicMs;
  /**
   * The breaker opens when at least `minimumThroughput` keys were requested within the window, and this part (0 to 1)
   * of them failed.
   */
  readonly failureRate: number;
  readonly minimumThroughput: number;
  /** A key counts for half of this time at least, and for all of it at most. */
  readonly windowMs: Ms;
}

/** The most keys of half a window: enough to decide by. */
const MOST_KEYS = 1000;

/**
 * Opens a breaker when too many keys fail. The last outcome of each key counts: one broken key counts once, however
 * often it is asked for. Two maps rotate: the older one is dropped when the newer one has collected for half of the
 * window, or is full.
 */
export class FailedKeys implements FailureCount {
  readonly #dependencies: FailedKeysDependencies;
  /** By key: whether its last request failed. */
  #older = new Map<string, boolean>();
  #newer = new Map<string, boolean>();
  #rotateAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: FailedKeysDependencies) {
    this.#dependencies = dependencies;
  }

  add(key: string, failed: boolean): boolean {
    this.#rotate();
    this.#older.delete(key);
    this.#newer.set(key, failed);
    if (!failed) return false;
    const outcomes = [...this.#older.values(), ...this.#newer.values()];
    const failures = outcomes.filter((each) => each).length;
    const { minimumThroughput, failureRate } = this.#dependencies;
    return outcomes.length >= minimumThroughput && failures >= failureRate * outcomes.length;
  }

  hasFailed(key: string): boolean {
    this.#rotate();
    return this.#newer.get(key) ?? this.#older.get(key) ?? false;
  }

  clear(): void {
    this.#older.clear();
    this.#newer.clear();
  }

  #rotate(): void {
    const now = this.#dependencies.now();
    if (now < this.#rotateAt && this.#newer.size < MOST_KEYS) return;
    const halfMs = this.#dependencies.windowMs / 2;
    // After a whole window without a rotation, both are too old.
    this.#older = now < this.#rotateAt + halfMs ? this.#newer : new Map();
    this.#newer = new Map();
    this.#rotateAt = now + halfMs;
  }
}

/** Half of an operation's keys of the last 10 s have to fail before its breaker opens. */
const [FAILURE_RATE, WINDOW_MS] = [0.5, 10_000];

/** The longest open duration is the first one times this. */
const LONGEST_FACTOR = 2.5;

/** Jitter only shortens the open duration, by at most this part. */
const JITTER = 0.5;

export interface OperationBreakersDependencies<Name extends string> {
  readonly now: () => MonotonicMs;
  /** 0 to 1. */
  readonly random: () => number;
  readonly onTransition: (operation: Name, state: 'open' | 'closed') => void;
  /** The fewest keys of which half must fail before a breaker opens. */
  readonly minimumThroughput: number;
  /** The open duration before a trial. Each failed trial doubles it, up to {@link LONGEST_FACTOR} times it. */
  readonly openDuration: Ms;
}

/**
 * Builds a circuit breaker for each operation. An indexer that cannot be reached counts as a failure in all of them, and
 * the first that closes lets the others try at once: the indexer is back, probably for all. So does the first answer to an
 * operation whose requests broke: before an indexer that is away, a TCP proxy accepts connections and closes them.
 */
export function operationBreakers<Name extends string>(
  operations: readonly Name[],
  { now, random, onTransition, ...settings }: OperationBreakersDependencies<Name>,
): ReadonlyMap<string, Guard> {
  const { minimumThroughput, openDuration } = settings;
  const breakers = operations.map(
    (operation) =>
      new CircuitBreaker({
        now,
        failures: new FailedKeys({ now, failureRate: FAILURE_RATE, minimumThroughput, windowMs: WINDOW_MS }),
        openMs: (failedTrials) => openDuration * Math.min(2 ** failedTrials, LONGEST_FACTOR) * (1 - JITTER * random()),
        passOverMs: openDuration * LONGEST_FACTOR,
        onTransition: ({ state }) => {
          onTransition(operation, state);
          if (state === 'closed') for (const other of breakers) other.tryNow();
        },
      }),
  );
  const guards = breakers.map((breaker): Guard => {
    let hasBroken = false;
    const end: Guard['end'] = (endCall, outcome, key) => {
      if (OUTCOMES[outcome].failureOf === 'all') for (const each of breakers) each.count(key, 'failure');
      const result = resultIn('operation', outcome);
      endCall(result);
      if (hasBroken && result === 'success') for (const each of breakers) each.tryNow();
      if (result !== 'unknown') hasBroken = outcome === 'broken';
    };
    return { reason: 'breaker-open', breaker, end };
  });
  return new Map(operations.map((operation, index) => [operation, guards[index] as Guard]));
}
