import { CircuitBreaker, type FailureCount } from '../circuit-breaker.ts';
import { OUTCOMES, resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { type Guard, guardBy } from './guard.ts';

/** A breaker opens if this part of an operation's keys failed in this time; a key counts for at least half of the time. */
const [FAILURE_RATE, WINDOW_MS]: [number, Ms] = [0.5, 10_000];

/** The maximum number of keys in half a window: enough for a decision. */
const MOST_KEYS = 1000;

/**
 * Opens a breaker when too many keys fail. The last outcome of each key counts, so one broken key counts once, however
 * often it is requested. Two maps rotate: the older map is dropped when the newer one has collected for half of the
 * window, or is full.
 */
export class FailedKeys implements FailureCount {
  readonly #now: () => MonotonicMs;
  readonly #minimumKeys: number;
  /** By key: true if its last request failed. */
  #older = new Map<string, boolean>();
  #newer = new Map<string, boolean>();
  #rotateAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  /** `minimumKeys`: with fewer requested keys the breaker does not open. */
  constructor(now: () => MonotonicMs, minimumKeys: number) {
    this.#now = now;
    this.#minimumKeys = minimumKeys;
  }

  add(key: string, failed: boolean): boolean {
    this.#rotate();
    this.#older.delete(key);
    this.#newer.set(key, failed);
    if (!failed) return false;
    const outcomes = [...this.#older.values(), ...this.#newer.values()];
    const failures = outcomes.filter((each) => each).length;
    return outcomes.length >= this.#minimumKeys && failures >= FAILURE_RATE * outcomes.length;
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
    const now = this.#now();
    if (now < this.#rotateAt && this.#newer.size < MOST_KEYS) return;
    const halfMs = WINDOW_MS / 2;
    // After a whole window without a rotation, both maps are too old.
    this.#older = now < this.#rotateAt + halfMs ? this.#newer : new Map();
    this.#newer = new Map();
    this.#rotateAt = now + halfMs;
  }
}

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

/** The guard of an operation, with its circuit breaker. */
export interface OperationGuard extends Guard {
  readonly breaker: CircuitBreaker;
}

/** The circuit breakers of the operations at one indexer. */
interface OperationBreakers {
  readonly guards: ReadonlyMap<string, OperationGuard>;
  /**
   * Call when the indexer answers anything: a request for an operation, a head poll, a passed-through request. After its
   * first answer the breakers that opened because it was unreachable are half-open.
   */
  readonly answered: () => void;
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
): OperationBreakers {
  const { minimumThroughput, openDuration } = settings;
  const breakers = operations.map(
    (operation) =>
      new CircuitBreaker({
        now,
        failures: new FailedKeys(now, minimumThroughput),
        openMs: (failedTrials) => openDuration * Math.min(2 ** failedTrials, LONGEST_FACTOR) * (1 - JITTER * random()),
        passOverMs: openDuration * LONGEST_FACTOR,
        onTransition: ({ state }) => {
          onTransition(operation, state);
          if (state === 'closed') for (const other of breakers) other.tryNow();
        },
      }),
  );
  /** Those whose last failure was that the indexer could not be reached. */
  const unreachable = new Set<CircuitBreaker>();
  const guards = breakers.map((breaker): OperationGuard => {
    let hasBroken = false;
    const guard = guardBy('breaker-open', breaker, (endCall, outcome, key) => {
      const result = resultIn('operation', outcome);
      if (OUTCOMES[outcome].failureOf === 'all')
        for (const each of breakers) {
          each.count(key, 'failure');
          unreachable.add(each);
        }
      else if (result === 'failure') unreachable.delete(breaker);
      endCall(result);
      if (hasBroken && result === 'success') for (const each of breakers) each.tryNow();
      if (result !== 'unknown') hasBroken = outcome === 'broken';
    });
    return { ...guard, breaker };
  });
  return {
    guards: new Map(operations.map((operation, index) => [operation, guards[index] as OperationGuard])),
    answered: () => {
      for (const breaker of breakers) if (breaker.answered() && unreachable.has(breaker)) breaker.tryNow();
    },
  };
}
