/** What a request may do: be sent like any other, be sent as the trial that decides, or not be sent. */
export type Admitted = 'closed' | 'trial' | 'open';

/**
 * The states of a circuit breaker (Nygard, Release It!). Closed: all requests pass. Open: none passes until a set time.
 * Half-open, after that time: one request passes as a trial, and its outcome closes the circuit or opens it again. The
 * owner decides when it opens and for how long.
 */
export class Circuit {
  readonly #now: () => number;
  #isClosed = true;
  #openUntil = 0;
  #trialIsUnderWay = false;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether nothing may be sent now: the circuit is open, or its trial is under way. */
  get isOpen(): boolean {
    return !this.#isClosed && (this.#trialIsUnderWay || this.#now() < this.#openUntil);
  }

  /** Milliseconds until a trial may be sent; 0 while the circuit is closed or a trial is under way. */
  get retryAfterMs(): number {
    return this.#isClosed ? 0 : Math.max(0, this.#openUntil - this.#now());
  }

  /** Takes the right to send a request now. Each `trial` ends in `close` or `forgetTrial`. */
  admit(): Admitted {
    if (this.#isClosed) return 'closed';
    if (this.isOpen) return 'open';
    this.#trialIsUnderWay = true;
    return 'trial';
  }

  /**
   * Opens the circuit for so many milliseconds, or keeps it open for at least as long. A trial under way stays the only
   * one.
   */
  open(ms: number): void {
    this.#openUntil = Math.max(this.#isClosed ? 0 : this.#openUntil, this.#now() + ms);
    this.#isClosed = false;
  }

  /** Ends the time in which no trial may be sent. */
  halfOpen(): void {
    this.#openUntil = 0;
  }

  close(): void {
    this.#isClosed = true;
    this.forgetTrial();
  }

  /** The trial ended without closing the circuit: another request may be the next trial. */
  forgetTrial(): void {
    this.#trialIsUnderWay = false;
  }
}
