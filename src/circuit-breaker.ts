import type { MonotonicMs, Ms } from './time-units.ts';

/** How a call ended; `unknown`: in a way that shows nothing about the callee. */
export type CallResult = 'success' | 'failure' | 'unknown';

/** Ends a call that was let through. Call exactly once. `retryAfterMs`: see {@link CircuitBreaker}. */
export type EndCall = (result: CallResult, retryAfterMs?: Ms) => void;

/** Decides when a closed breaker opens. */
export interface FailureCount {
  /** Counts a call; returns true if the breaker must open. */
  add(key: string, failed: boolean): boolean;
  /** True if a call for this key may fail at any callee, so that another key is the better trial. */
  hasFailed(key: string): boolean;
  /** Forgets all calls. */
  clear(): void;
}

export interface CircuitBreakerDependencies {
  readonly now: () => MonotonicMs;
  readonly failures: FailureCount;
  /**
   * The time for which it stays open, after this number of failed trials in a row; `retryAfterMs` is 0 without a
   * `Retry-After`.
   */
  readonly openMs: (failedTrials: number, retryAfterMs: Ms) => Ms;
  /**
   * For this time after a failed trial, a key that has failed is not the next trial: one broken key with constant
   * requests would keep the breaker open. After that any key may be, because there may be no other. Default 0.
   */
  readonly passOverMs?: Ms;
  /** Called when it opens and when it closes; not when a trial fails. */
  readonly onTransition: (transition: CircuitTransition) => void;
}

export type CircuitTransition = { readonly state: 'open'; readonly openMs: Ms } | { readonly state: 'closed' };

/**
 * A circuit breaker (Nygard, Release It!). Closed, it lets all calls through. Open, it lets none through for a while.
 * Then it is half-open: one call is the trial, whose success closes it and whose failure opens it again.
 *
 * Calls that began before it opened neither close it nor are counted. But the callee may ask for a pause of
 * `retryAfterMs`, and then it stays open for at least this long.
 */
export class CircuitBreaker {
  readonly #dependencies: CircuitBreakerDependencies;
  #isClosed = true;
  #openUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  #hasAnswered = false;
  #trialIsUnderWay = false;
  #passOverUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  #failedTrials = 0;

  constructor(dependencies: CircuitBreakerDependencies) {
    this.#dependencies = dependencies;
  }

  /** True if all calls are let through: it never opened, or its last trial succeeded. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** `open`: no call is let through now. `half-open`: the next call is the trial. */
  get state(): 'closed' | 'open' | 'half-open' {
    if (this.#isClosed) return 'closed';
    return this.isOpen ? 'open' : 'half-open';
  }

  /**
   * True if the callee seems to fail: it is open, or it is half-open and the callee has answered nothing since it opened.
   * A trial needs a call, which may not come for hours.
   */
  get isFailing(): boolean {
    return this.isOpen || !(this.#isClosed || this.#hasAnswered);
  }

  /** Call when the callee answers anything, also what is not counted here. Returns true for the first answer since it opened. */
  answered(): boolean {
    const isFirst = !(this.#isClosed || this.#hasAnswered);
    this.#hasAnswered = true;
    return isFirst;
  }

  /** True if no call is let through now: it is open, or its trial is under way. */
  get isOpen(): boolean {
    return !this.#isClosed && (this.#trialIsUnderWay || this.retryAfterMs > 0);
  }

  /** The time until a trial may begin; 0 while it is closed or a trial is under way. */
  get retryAfterMs(): Ms {
    return this.#isClosed ? 0 : Math.max(0, this.#openUntil - this.#dependencies.now());
  }

  /** Takes the right to make a call for a key now; `undefined` if the call is not let through. */
  admit(key = ''): EndCall | undefined {
    if (this.#isClosed) return (result, retryAfterMs) => this.count(key, result, retryAfterMs);
    const { now, failures } = this.#dependencies;
    if (this.isOpen || (now() < this.#passOverUntil && failures.hasFailed(key))) return undefined;
    this.#trialIsUnderWay = true;
    return (result, retryAfterMs) => this.#endTrial(key, result, retryAfterMs);
  }

  /** Counts a call that was not a trial. */
  count(key: string, result: CallResult, retryAfterMs: Ms = 0): void {
    const { now, failures, onTransition } = this.#dependencies;
    if (!this.#isClosed) {
      if (result === 'failure') this.#openUntil = Math.max(this.#openUntil, now() + retryAfterMs);
      return;
    }
    if (result === 'unknown' || !failures.add(key, result === 'failure')) return;
    failures.clear();
    this.#isClosed = false;
    this.#failedTrials = 0;
    onTransition({ state: 'open', openMs: this.#open(retryAfterMs) });
  }

  /** Allows an immediate trial if it is open, for any key. */
  tryNow(): void {
    if (!this.#isClosed) this.#dependencies.failures.clear();
    this.#openUntil = Number.NEGATIVE_INFINITY;
  }

  #endTrial(key: string, result: CallResult, retryAfterMs: Ms = 0): void {
    const { now, failures, passOverMs = 0, onTransition } = this.#dependencies;
    this.#trialIsUnderWay = false;
    if (result === 'failure') {
      failures.add(key, true);
      this.#passOverUntil = now() + passOverMs;
      this.#failedTrials++;
      this.#open(retryAfterMs);
    } else if (result === 'success') {
      failures.clear();
      this.#isClosed = true;
      onTransition({ state: 'closed' });
    }
  }

  #open(retryAfterMs: Ms): Ms {
    const { now, openMs } = this.#dependencies;
    const ms = openMs(this.#failedTrials, retryAfterMs);
    this.#openUntil = Math.max(this.#openUntil, now() + ms);
    this.#hasAnswered = false;
    return ms;
  }
}

/** Opens a breaker after this number of failures in a row. */
export class FailuresInARow implements FailureCount {
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(_key: string, failed: boolean): boolean {
    this.#count = failed ? this.#count + 1 : 0;
    return this.#count >= this.#most;
  }

  hasFailed(): boolean {
    return false;
  }

  clear(): void {
    this.#count = 0;
  }
}
