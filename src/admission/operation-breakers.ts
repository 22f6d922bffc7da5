import { CircuitBreaker, type FailureCount } from '../circuit-breaker.ts';
import { OUTCOMES, resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Guard } from './guard.ts';

export interface FailedKeysDependencies {
  readonly now: () => MonotonicMs;
  /**
   * The breaker opens when at least `minimumThroughput` keys were requested within the window, and this part of them (0
   * to 1) failed.
   */
  readonly failureRate: number;
  readonly minimumThroughput: number;
  /** A key counts for at least half of this time and at most all of it. */
  readonly windowMs: Ms;
}

/** The maximum number of keys in half a window: enough for a decision. */
const MOST_KEYS = 1000;

/**
 * Opens a breaker when too many keys fail. The last outcome of each key counts, so one broken key counts once, however
 * often it is requested. Two maps rotate: the older map is dropped when the newer one has collected for half of the
 * window, or is full.
 */
export class FailedKeys implements FailureCount {
  readonly #dependencies: FailedKeysDependencies;
  /** By key: true if its last request failed. */
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
    // After a whole window without a rotation, both maps are too old.
    this.#older = now < this.#rotateAt + halfMs ? this.#newer : new Map();
    this.#newer = new Map();
    this.#rotateAt = now + halfMs;
  }
}

/** A breaker opens if half of an operation's keys of the last 10 s failed. */
const [FAILURE_RATE, WINDOW_MS] = [0.5, 10_000];

/** With fewer keys, two or three broken ones would stop an operation that answers all others. */
export const MINIMUM_THROUGHPUT = 20;

/** An indexer that restarts is back after seconds, and one trial in 2 s is no load for one that struggles. */
export const OPEN_DURATION_MS: Ms = 2000;

/** The longest open duration is this multiple of the first. */
const LONGEST_FACTOR = 2.5;

/** Jitter only shortens the open duration, by at most this part. */
const JITTER = 0.5;

export interface OperationBreakersDependencies<Name extends string> {
  readonly now: () => MonotonicMs;
  /** 0 to 1. */
  readonly random: () => number;
  readonly onTransition: (operation: Name, state: 'open' | 'closed') => void;
  /** The minimum number of keys of which half must fail before a breaker opens. */
  readonly minimumThroughput: number;
  /** The open duration before a trial. Each failed trial doubles it, up to {@link LONGEST_FACTOR} times this value. */
  readonly openDuration: Ms;
}

/**
 * Builds a circuit breaker for each operation. An unreachable indexer counts as a failure in all of them, and the first
 * breaker that closes lets the others try immediately: the indexer is back, probably for all operations. An operation's
 * first answer after a broken request does the same: a TCP proxy in front of a stopped indexer accepts connections and
 * closes them.
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
