import { Circuit } from './circuit.ts';
import { type Guard, type Pass, passOf } from './guard.ts';
import { KeyOutcomes } from './key-outcomes.ts';
import type { Outcome } from './outcome.ts';

/** Jitter only shortens the open duration, by at most this part, so that `longestOpenMs` stays the maximum. */
const JITTER = 0.5;

export interface BreakerDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** 0 to 1. */
  readonly random: () => number;
  readonly onTransition: (transition: BreakerTransition) => void;
  /** Called when a request found no connection, which counts as a failure in other breakers too. */
  readonly onUnreachable?: (key: string) => void;
}

export interface BreakerOptions {
  /**
   * The breaker opens when at least `minimumThroughput` keys were requested within the window, and this part (0 to 1)
   * of them failed.
   */
  readonly failureRate: number;
  readonly minimumThroughput: number;
  readonly windowMs: number;
  /** The open duration before a trial, in milliseconds. Each failed trial doubles it, up to `longestOpenMs`. */
  readonly openMs: number;
  readonly longestOpenMs: number;
}

/** The breaker opened, or stays open because a trial failed, for `openMs`; or it closed. */
export type BreakerTransition = { readonly state: 'open'; readonly openMs: number } | { readonly state: 'closed' };

/** The circuit breaker of one operation. */
export class Breaker implements Guard {
  readonly reason = 'breaker-open';
  readonly #dependencies: BreakerDependencies;
  readonly #options: BreakerOptions;
  readonly #outcomes: KeyOutcomes;
  readonly #circuit: Circuit;
  #openMs = 0;

  constructor(dependencies: BreakerDependencies, options: BreakerOptions) {
    const { now } = dependencies;
    const { windowMs } = options;
    this.#dependencies = dependencies;
    this.#options = options;
    this.#outcomes = new KeyOutcomes({ now }, { windowMs });
    this.#circuit = new Circuit(now);
  }

  get isOpen(): boolean {
    return this.#circuit.isOpen;
  }

  get retryAfterMs(): number {
    return this.#circuit.retryAfterMs;
  }

  admit(key: string): Pass | undefined {
    // A key that failed within the window is not used as a trial: one broken key must not keep the breaker open.
    if (!this.#circuit.isClosed && this.#outcomes.hasFailed(key)) return undefined;
    const admitted = this.#circuit.admit();
    if (admitted === 'open') return undefined;
    return passOf((outcome) => {
      if (outcome === 'unreachable') this.#dependencies.onUnreachable?.(key);
      if (admitted === 'trial') this.#endTrial(key, outcome);
      else this.count(key, outcome);
    });
  }

  /**
   * Counts the outcome of a request that was no trial. While the breaker is open it is ignored: the request was sent
   * before.
   */
  count(key: string, outcome: Outcome): void {
    const failed = isFailure(outcome);
    if (!this.#circuit.isClosed || !(failed || outcome === 'answered')) return;
    const { minimumThroughput, failureRate } = this.#options;
    this.#outcomes.add(key, failed);
    const { keys, failures } = this.#outcomes.counts;
    if (!failed || keys < minimumThroughput || failures < failureRate * keys) return;
    this.#outcomes.clear();
    this.#openMs = this.#options.openMs;
    this.#open();
  }

  /** Lets a trial go at once if the breaker is open: another operation was just answered. */
  tryNow(): void {
    this.#circuit.halfOpen();
  }

  #endTrial(key: string, outcome: Outcome): void {
    this.#circuit.forgetTrial();
    if (outcome === 'unsent' || outcome === 'abandoned') return;
    if (isFailure(outcome)) {
      this.#outcomes.add(key, true);
      this.#openMs = Math.min(this.#openMs * 2, this.#options.longestOpenMs);
      this.#open();
    } else {
      // Any answer closes the breaker, even a 404 or a 429: the indexer is reachable and answers.
      this.#outcomes.clear();
      this.#circuit.close();
      this.#dependencies.onTransition({ state: 'closed' });
    }
  }

  #open(): void {
    const { random, onTransition } = this.#dependencies;
    const openMs = this.#openMs * (1 - JITTER * random());
    this.#circuit.open(openMs);
    onTransition({ state: 'open', openMs });
  }
}

function isFailure(outcome: Outcome): boolean {
  return outcome === 'server-error' || outcome === 'timeout' || outcome === 'unreachable';
}
