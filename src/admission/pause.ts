import { CircuitBreaker, type CircuitTransition, type EndCall, FailuresInARow } from '../circuit-breaker.ts';
import { resultIn } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { EndPass, Guard, Refusal } from './guard.ts';

/** The maximum number of remembered keys; above it the oldest 429 is forgotten. Paths may have 16 KiB. */
const MOST_KEYS = 256;

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

/** A key that got a 429, and is not forgotten even if its time is over. */
interface PausedKey {
  /** No request for the key is sent until then. */
  readonly until: MonotonicMs;
  readonly isCached: boolean;
  /** The number of 429s before this one. */
  readonly place: number;
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
  /** In the order of their last 429. */
  readonly #keys = new Map<string, PausedKey>();
  /** The number of 429s so far. */
  #refusals = 0;
  /** While everything waits for a trial: until then no request is sent for a key that got a 429 before. */
  #passOverUntil: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: PauseDependencies) {
    const { now, onTransition, defaultMs, longestMs } = dependencies;
    this.#dependencies = dependencies;
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
    return {
      reason: 'paused',
      breaker: this.breaker,
      refusal: (key) => this.refusal(key),
      admit: (key) => this.#admit(key, isCached),
    };
  }

  /** Why a request for a key would be refused now; without a key, for any key. */
  refusal(key: string | undefined): Refusal | undefined {
    const { breaker } = this;
    const paused = key === undefined ? undefined : this.#keys.get(key);
    const keyMs = this.#remainingMs(paused);
    if (breaker.isOpen) return { reason: 'paused', retryAfterMs: Math.max(breaker.retryAfterMs, keyMs) };
    if (keyMs > 0) return { reason: 'key-paused', retryAfterMs: keyMs };
    if (breaker.isClosed || paused === undefined) return undefined;
    const passOverMs = this.#passOverUntil - this.#dependencies.now();
    return passOverMs > 0 ? { reason: 'paused', retryAfterMs: passOverMs } : undefined;
  }

  #admit(key: string, isCached: boolean): EndPass | undefined {
    const { defaultMs, longestMs } = this.#dependencies;
    const endCall = this.refusal(key) === undefined ? this.breaker.admit(key) : undefined;
    if (endCall === undefined) return undefined;
    const since = this.#refusals;
    return (outcome, retryAfterMs = defaultMs) => {
      const result = resultIn('pause', outcome);
      if (result !== 'failure') endCall(result);
      else this.#refused(key, isCached, Math.min(longestMs, retryAfterMs), since, endCall);
    };
  }

  /** A request for a key got a 429. `since`: the number of 429s before it was sent. */
  #refused(key: string, isCached: boolean, ms: Ms, since: number, endCall: EndCall): void {
    const { now, onKeyPaused } = this.#dependencies;
    const { isClosed } = this.breaker;
    // While everything pauses or waits for a trial, no 429 is forgotten.
    if (isClosed) for (const [each, { until }] of this.#keys) if (until <= now()) this.#keys.delete(each);
    const wasRefused = this.#keys.has(key);
    this.#remember(key, isCached, ms);
    const all = [...this.#keys.values()];
    // The 429s show a limit of all requests: they came to two keys, and one of the two belongs to a cached operation.
    const showLimit = all.length > 1 && all.some((each) => each.isCached);
    if (isClosed ? showLimit : !wasRefused) {
      // If several requests met the limit together, the longest pause counts. A key that got a 429 before they were
      // sent has its own pause.
      const together = all.filter(({ place }) => place >= since);
      endCall('failure', Math.max(0, ...together.map((each) => this.#remainingMs(each))));
      return;
    }
    if (isClosed) onKeyPaused({ key, isCached, ms });
    else this.#passOverUntil = now() + ms;
    endCall('unknown');
  }

  /** Pauses a key for this time; a longer pause stays. */
  #remember(key: string, isCached: boolean, ms: Ms): void {
    const until = this.#dependencies.now() + Math.max(ms, this.#remainingMs(this.#keys.get(key)));
    this.#keys.delete(key);
    this.#keys.set(key, { until, isCached, place: this.#refusals++ });
    const [oldest] = this.#keys.keys();
    if (this.#keys.size > MOST_KEYS && oldest !== undefined) this.#keys.delete(oldest);
  }

  #remainingMs(paused: PausedKey | undefined): Ms {
    return Math.max(0, (paused?.until ?? 0) - this.#dependencies.now());
  }
}
