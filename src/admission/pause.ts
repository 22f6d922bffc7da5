import { CircuitBreaker, type CircuitTransition, type EndCall, FailuresInARow } from '../circuit-breaker.ts';
import { resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Guard, Refusal } from './guard.ts';
import { PausedKeys } from './paused-keys.ts';

export interface PauseDependencies {
  readonly now: () => MonotonicMs;
  /** Called when a pause of everything begins, and when its trial was answered. */
  readonly onTransition: (transition: CircuitTransition) => void;
  /** Called when a single key is paused. */
  readonly onKeyPaused: (paused: KeyPaused) => void;
  /** The length of a pause without a `Retry-After`. */
  readonly defaultMs: Ms;
  /** The maximum length of a pause, whatever the `Retry-After`. */
  readonly longestMs: Ms;
}

export interface KeyPaused {
  readonly key: string;
  /** True if the key belongs to a cached operation; otherwise it is the method and path of a passed-through request. */
  readonly isCached: boolean;
  readonly ms: Ms;
}

/** A request that was let through. */
interface Passed {
  readonly key: string;
  readonly isCached: boolean;
  /** The number of refusals before it was sent. */
  readonly refusals: number;
}

/**
 * The pauses that one indexer, or the provider in front of it, demands with 429. It may limit one key, or all requests:
 *
 * - A 429 pauses its key. Requests for others are sent.
 * - Everything pauses when a second key gets a 429 while the first one is paused, and one of the two belongs to a
 *   cached operation. Passed-through paths are limited one by one, and clients choose them.
 *
 * The pause of everything is a circuit breaker that opens immediately. After it, one request is sent as a trial. The
 * others follow when the trial is answered, unless its outcome is a failure of the operation, such as most 5xx. After a
 * 429 to the trial, the next pause is as long as its `Retry-After`, but at least twice the default, then four times and
 * so on.
 *
 * A key that got a 429 before may be limited by itself. A request for it may be the trial too, because clients may
 * request no other key. But a 429 to this trial pauses only the keys that got a 429 before, so that a request for
 * another key is the next trial.
 */
export class Pause {
  readonly #dependencies: PauseDependencies;
  /** The breaker of everything. */
  readonly breaker: CircuitBreaker;
  readonly #keys: PausedKeys;
  /** While everything waits for a trial: until then no request is sent for a key that got a 429 before. */
  #passOverUntil: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: PauseDependencies) {
    const { now, onTransition, defaultMs, longestMs } = dependencies;
    this.#dependencies = dependencies;
    this.#keys = new PausedKeys(now);
    this.breaker = new CircuitBreaker({
      now,
      failures: new FailuresInARow(1),
      openMs: (failedTrials, retryAfterMs) =>
        Math.min(longestMs, Math.max(retryAfterMs, failedTrials === 0 ? 0 : defaultMs * 2 ** failedTrials)),
      onTransition,
    });
  }

  /** The guard of requests for keys of cached operations, or for other keys. */
  guard(isCached: boolean): Guard {
    const { defaultMs, longestMs } = this.#dependencies;
    return {
      reason: 'paused',
      breaker: this.breaker,
      byKey: { refusal: (key) => this.refusal(key), admit: (key) => this.#admit(key, isCached) },
      end: (endCall, outcome, _key, retryAfterMs = defaultMs) =>
        endCall(resultIn('pause', outcome), Math.min(longestMs, retryAfterMs)),
    };
  }

  /** Why a request for a key would be refused now. */
  refusal(key: string): Refusal | undefined {
    const { breaker } = this;
    const keyMs = this.#keys.remainingMs(key);
    if (breaker.isOpen) return { reason: 'paused', retryAfterMs: Math.max(breaker.retryAfterMs, keyMs) };
    if (keyMs > 0) return { reason: 'key-paused', retryAfterMs: keyMs };
    if (breaker.isClosed || !this.#keys.has(key)) return undefined;
    const passOverMs = this.#passOverUntil - this.#dependencies.now();
    return passOverMs > 0 ? { reason: 'paused', retryAfterMs: passOverMs } : undefined;
  }

  #admit(key: string, isCached: boolean): EndCall | undefined {
    if (this.refusal(key) !== undefined) return undefined;
    const endCall = this.breaker.admit(key);
    const passed = { key, isCached, refusals: this.#keys.refusals };
    return (
      endCall && ((result, ms = 0) => (result === 'failure' ? this.#refused(passed, ms, endCall) : endCall(result)))
    );
  }

  #refused({ key, isCached, refusals }: Passed, ms: Ms, endCall: EndCall): void {
    const { now, onKeyPaused } = this.#dependencies;
    const { isClosed } = this.breaker;
    // While everything pauses or waits for a trial, no 429 is forgotten.
    if (isClosed) this.#keys.forgetEnded();
    const wasRefused = this.#keys.has(key);
    this.#keys.add(key, isCached, ms);
    if (isClosed ? this.#keys.showLimit : !wasRefused) {
      // If several requests met the limit together, the longest pause counts. A key that got a 429 before they were
      // sent has its own pause.
      endCall('failure', this.#keys.longestMs(refusals));
      return;
    }
    if (isClosed) onKeyPaused({ key, isCached, ms });
    else this.#passOverUntil = now() + ms;
    endCall('unknown');
  }
}
