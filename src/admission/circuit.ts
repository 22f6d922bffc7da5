/** A trial that has not ended by now never will: no request takes longer than 5 min, the longest `upstream.timeout`. */
const TRIAL_LOST_AFTER_MS = 6 * 60_000;

/** What a request may do: be sent like any other, be sent as the trial that decides, or not be sent. */
export type Admitted = 'closed' | 'trial' | 'open';

/**
 * A circuit breaker's states (Nygard, Release It!): closed, all requests pass; open, none does until a time; half-open,
 * after that time, one request is a trial, and its end closes the circuit or opens it again. When it opens and for how
 * long is decided by its owner.
 */
export class Circuit {
  readonly #now: () => number;
  #isClosed = true;
  #openUntil = 0;
  #trialUntil = 0;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether nothing may be sent now: it is open, or its trial is under way. */
  get isOpen(): boolean {
    return !this.#isClosed && this.#now() < Math.max(this.#openUntil, this.#trialUntil);
  }

  /** Milliseconds until a trial may be sent; 0 while it is closed, and while a trial is under way. */
  get retryAfterMs(): number {
    return this.#isClosed ? 0 : Math.max(0, this.#openUntil - this.#now());
  }

  /** Takes the right to send a request now. Each `trial` ends in `close` or `forgetTrial`. */
  admit(): Admitted {
    if (this.#isClosed) return 'closed';
    if (this.isOpen) return 'open';
    this.#trialUntil = this.#now() + TRIAL_LOST_AFTER_MS;
    return 'trial';
  }

  /** Opens it for so many milliseconds, or keeps it open for as long at least. A trial under way stays the only one. */
  open(ms: number): void {
    this.#openUntil = Math.max(this.#isClosed ? 0 : this.#openUntil, this.#now() + ms);
    this.#isClosed = false;
  }

  close(): void {
    this.#isClosed = true;
    this.forgetTrial();
  }

  /** The trial is over and closed nothing: another request may be the next. */
  forgetTrial(): void {
    this.#trialUntil = 0;
  }
}
