/** What a `CircuitBreaker` is built from. */
export interface CircuitBreakerDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Called when the breaker opens, with the error of the last call, and when it closes; not when a trial fails. */
  readonly onTransition: (transition: CircuitTransition) => void;
}

export interface CircuitBreakerOptions {
  /** The number of failures in a row that open the breaker; 1 or more. */
  readonly failuresToOpen: number;
  /** How long the breaker stays open before a trial, in milliseconds. */
  readonly openMs: number;
}

export type CircuitTransition = { readonly state: 'open'; readonly error: unknown } | { readonly state: 'closed' };

/**
 * A circuit breaker that counts consecutive failures. Closed, it lets all calls through. Open, it rejects all calls for
 * `openMs`. Then it is half-open: one call is the trial, whose success closes it and whose failure opens it for `openMs`
 * again; all other calls are rejected meanwhile.
 */
export class CircuitBreaker {
  readonly #dependencies: CircuitBreakerDependencies;
  readonly #options: CircuitBreakerOptions;
  #failures = 0;
  #isOpen = false;
  #trialAt = 0;
  #trialIsUnderWay = false;

  constructor(dependencies: CircuitBreakerDependencies, options: CircuitBreakerOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /**
   * Returns what `work` resolves to; `failed` when it throws, `rejected` when it is not called. Never rejects. `work`
   * must settle, or a trial would never end.
   */
  async run<T>(work: () => Promise<T>): Promise<T | 'failed' | 'rejected'> {
    const isTrial = this.#isOpen;
    if (isTrial && (this.#trialIsUnderWay || this.#dependencies.now() < this.#trialAt)) return 'rejected';
    this.#trialIsUnderWay = isTrial;
    try {
      const value = await work();
      this.#succeeded(isTrial);
      return value;
    } catch (error) {
      this.#failed(isTrial, error);
      return 'failed';
    }
  }

  #succeeded(isTrial: boolean): void {
    if (this.#isOpen && !isTrial) return; // this call began before the breaker opened
    this.#failures = 0;
    if (!isTrial) return;
    this.#trialIsUnderWay = false;
    this.#isOpen = false;
    this.#dependencies.onTransition({ state: 'closed' });
  }

  #failed(isTrial: boolean, error: unknown): void {
    const { now, onTransition } = this.#dependencies;
    const { failuresToOpen, openMs } = this.#options;
    if (this.#isOpen && !isTrial) return;
    if (!isTrial && ++this.#failures < failuresToOpen) return;
    this.#trialIsUnderWay = false;
    this.#trialAt = now() + openMs;
    if (isTrial) return;
    this.#isOpen = true;
    onTransition({ state: 'open', error });
  }
}
