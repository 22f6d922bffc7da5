import { CircuitBreaker, type CircuitTransition, type EndCall, FailuresInARow } from '../circuit-breaker.ts';
import { resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Guard, Refusal } from './guard.ts';
import { PausedKeys } from './paused-keys.ts';

export interface PauseDependencies {
  readonly now: () => MonotonicMs;
  /** Called when everything pauses and did not so far, and when the trial was answered. */
  readonly onTransition: (transition: CircuitTransition) => void;
  /** Called when one key pauses alone. */
  readonly onKeyPaused: (paused: KeyPaused) => void;
  /** The length of a pause when the indexer does not name one. */
  readonly defaultMs: Ms;
  /** The longest pause that is kept, whatever the indexer asks for. */
  readonly longestMs: Ms;
}

export interface KeyPaused {
  readonly key: string;
  /** Whether it belongs to a cached operation; else it is the method and the path of a passed-through request. */
  readonly isCached: boolean;
  readonly ms: Ms;
}

/** One request that was let through. */
interface Passed {
  readonly key: string;
  readonly isCached: boolean;
  /** How many refusals there had been when it was sent. */
  readonly refusals: number;
}

/**
 * The pauses that one indexer, or the provider in front of it, asks for with 429. It may limit one key, or all requests:
 *
 * - A 429 pauses its key. Others are sent.
 * - Everything pauses when a second key is refused while the first one is paused, and one of the two belongs to a cached
 *   operation. Paths that are passed through are limited one by one, and clients choose them.
 *
 * The pause of everything is a circuit breaker that opens at once. After its end one request is sent as a trial. The others
 * follow when it is answered, unless with a 5xx. After a 429 to the trial the next pause is as long as asked for, but at
 * least twice the default, then four times and so on.
 *
 * A key that was refused before may be limited alone. It is sent too, because perhaps no other is asked for, but its 429
 * pauses only the keys that were refused, so that one of another key is the trial.
 */
export class Pause {
  readonly #dependencies: PauseDependencies;
  /** That of everything. */
  readonly breaker: CircuitBreaker;
  readonly #keys: PausedKeys;
  /** While everything waits for a trial: until then no key that was refused before is sent. */
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

  /** The guard of requests whose keys belong to cached operations, or do not. */
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
    // While everything pauses or waits for a trial, no refusal is forgotten.
    if (isClosed) this.#keys.forgetEnded();
    const wasRefused = this.#keys.has(key);
    this.#keys.add(key, isCached, ms);
    if (isClosed ? this.#keys.showLimit : !wasRefused) {
      // Of requests that met the limit together, the longest pause counts. A key that was refused before they were sent has
      // its own.
      endCall('failure', this.#keys.longestMs(refusals));
      return;
    }
    if (isClosed) onKeyPaused({ key, isCached, ms });
    else this.#passOverUntil = now() + ms;
    endCall('unknown');
  }
}
