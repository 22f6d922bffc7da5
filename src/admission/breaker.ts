import { Circuit } from './circuit.ts';
import { type Guard, type Pass, passOf } from './guard.ts';
import { KeySamples } from './key-samples.ts';
import type { Outcome } from './outcome.ts';

/** Jitter only shortens the open time, by at most this part, so that the longest stays the longest. */
const JITTER = 0.2;

/** Enough to decide by, however many requests a window holds. */
const MOST_SAMPLES = 1000;

export interface BreakerDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** 0 to 1. */
  readonly random: () => number;
  readonly onTransition: (transition: BreakerTransition) => void;
  /** Called when a request found no connection, which is a failure of other breakers as well. */
  readonly onUnreachable?: (key: string) => void;
}

export interface BreakerOptions {
  /** It opens when this part (0 to 1) of at least so many keys failed within the window. */
  readonly failureRate: number;
  readonly minimumThroughput: number;
  readonly windowMs: number;
  /** How long it stays open before a trial, in milliseconds; each failed trial doubles that, up to the longest. */
  readonly openMs: number;
  readonly longestOpenMs: number;
}

/** It opened, or stays open as a trial failed, for `openMs`; or it closed. */
export type BreakerTransition = { readonly state: 'open'; readonly openMs: number } | { readonly state: 'closed' };

/**
 * The circuit breaker of one operation, or of one path that is passed through. It counts the last outcome of each cache
 * key, so that one broken key weighs as one however often it is asked for.
 */
export class Breaker implements Guard {
  readonly reason = 'breaker-open';
  readonly #dependencies: BreakerDependencies;
  readonly #options: BreakerOptions;
  readonly #samples: KeySamples;
  readonly #circuit: Circuit;
  #openMs = 0;

  constructor(dependencies: BreakerDependencies, options: BreakerOptions) {
    const { now } = dependencies;
    const { windowMs } = options;
    this.#dependencies = dependencies;
    this.#options = options;
    this.#samples = new KeySamples({ now }, { windowMs, mostSamples: MOST_SAMPLES });
    this.#circuit = new Circuit(now);
  }

  get isOpen(): boolean {
    return this.#circuit.isOpen;
  }

  get retryAfterMs(): number {
    return this.#circuit.retryAfterMs;
  }

  admit(key: string): Pass | undefined {
    // A key whose trial failed is not tried again within the window: one broken key must not answer for all.
    if (!this.#circuit.isClosed && this.#samples.hasFailed(key)) return undefined;
    const admitted = this.#circuit.admit();
    if (admitted === 'open') return undefined;
    return passOf((outcome) => {
      if (outcome === 'unreachable') this.#dependencies.onUnreachable?.(key);
      if (admitted === 'trial') this.#endTrial(key, outcome);
      else this.count(key, outcome);
    });
  }

  /** Counts how a request ended that was no trial. While open that says nothing new: it was sent before. */
  count(key: string, outcome: Outcome): void {
    const failed = isFailure(outcome);
    if (!this.#circuit.isClosed || !(failed || outcome === 'answered')) return;
    const { minimumThroughput, failureRate } = this.#options;
    const samples = this.#samples;
    samples.add(key, failed);
    if (!failed || samples.count < minimumThroughput || samples.failures < failureRate * samples.count) return;
    samples.clear();
    this.#openMs = this.#options.openMs;
    this.#open();
  }

  #endTrial(key: string, outcome: Outcome): void {
    this.#circuit.forgetTrial();
    if (outcome === 'unsent' || outcome === 'abandoned') return;
    if (isFailure(outcome)) {
      this.#samples.add(key, true);
      this.#openMs = Math.min(this.#openMs * 2, this.#options.longestOpenMs);
      this.#open();
    } else {
      // A 404 or a 429 says nothing about health, but the indexer is there and answers.
      this.#samples.clear();
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
