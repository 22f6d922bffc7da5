const LONGER_EACH_TIME = 1.5;

/** A trial that has not been ended by now never will be: the answer of any call comes far sooner. */
const TRIAL_LOST_AFTER_MS = 60_000;

export interface UpstreamPauseOptions {
  /** How long a pause lasts when the indexer did not say, in milliseconds. */
  readonly defaultMs: number;
  /** The longest pause that is believed, in milliseconds. */
  readonly longestMs: number;
  /** Epoch milliseconds: `Retry-After` may be a date. */
  readonly now: () => number;
  readonly onTransition: (transition: PauseTransition) => void;
}

/** A pause of that length began, in milliseconds, or the last of several has ended: a call was answered. */
export type PauseTransition = { readonly state: 'begun'; readonly ms: number } | { readonly state: 'ended' };

/** The right to send one call. To be ended exactly once, by one of its methods; what comes after that does nothing. */
export interface PausePass {
  /** The answer was no 429. */
  answered(): void;
  /** The answer was 429, with this `Retry-After`. */
  limited(retryAfter: string | undefined): void;
  /** There was no answer, or the call was not sent. */
  unanswered(): void;
}

/**
 * A rest that the indexer, or the provider before it, asked for with 429. Until its end nothing is sent; then one trial
 * call is, and the others go on when it was answered. Another 429 begins the next pause, longer than the one before.
 */
export class UpstreamPause {
  readonly #options: UpstreamPauseOptions;
  #until = 0;
  /** The length of the last pause as long as no trial has ended it. */
  #lengthMs = 0;
  #trialUntil = 0;

  constructor(options: UpstreamPauseOptions) {
    this.#options = options;
  }

  /** Whether a call may be sent now: to be asked last of all, right before it is. */
  admit(): PausePass | 'paused' {
    if (this.isPaused) return 'paused';
    const isTrial = this.#lengthMs > 0;
    if (isTrial) this.#trialUntil = this.#options.now() + TRIAL_LOST_AFTER_MS;
    return this.#pass(isTrial);
  }

  /** Whether nothing may be sent now: the pause lasts, or its trial call is under way. */
  get isPaused(): boolean {
    return this.#options.now() < Math.max(this.#until, this.#trialUntil);
  }

  /** Milliseconds until the pause ends; 0 when there is none, and while its trial call is under way. */
  get remainingMs(): number {
    return Math.max(0, this.#until - this.#options.now());
  }

  #pass(isTrial: boolean): PausePass {
    let ended = false;
    const once = (end: () => void) => () => {
      if (!ended) end();
      ended = true;
    };
    return {
      // The others were sent before the pause began, and their answers say nothing about its end.
      answered: once(() => isTrial && this.#end()),
      limited: (retryAfter) =>
        once(() => (isTrial ? this.#prolong(retryAfter) : this.#pause(this.#asked(retryAfter))))(),
      unanswered: once(() => isTrial && this.#letAnotherTry()),
    };
  }

  #end(): void {
    if (this.#lengthMs > 0) this.#options.onTransition({ state: 'ended' });
    this.#until = 0;
    this.#lengthMs = 0;
    this.#letAnotherTry();
  }

  #prolong(retryAfter: string | undefined): void {
    this.#letAnotherTry();
    this.#pause(Math.max(this.#asked(retryAfter), this.#lengthMs * LONGER_EACH_TIME));
  }

  #letAnotherTry(): void {
    this.#trialUntil = 0;
  }

  /** A shorter one never ends a longer. */
  #pause(ms: number): void {
    const lengthMs = Math.min(ms, this.#options.longestMs);
    if (this.#lengthMs === 0) this.#options.onTransition({ state: 'begun', ms: lengthMs });
    this.#lengthMs = Math.max(this.#lengthMs, lengthMs);
    this.#until = Math.max(this.#until, this.#options.now() + lengthMs);
  }

  /** By a `Retry-After` (RFC 9110 10.2.3): seconds or a date. */
  #asked(retryAfter: string | undefined): number {
    const askedMs = this.#parse(retryAfter) ?? 0;
    return askedMs > 0 ? askedMs : this.#options.defaultMs;
  }

  #parse(retryAfter: string | undefined): number | undefined {
    if (retryAfter === undefined) return undefined;
    if (/^\s*[0-9]+\s*$/.test(retryAfter)) return Number(retryAfter) * 1000;
    const at = Date.parse(retryAfter);
    return Number.isNaN(at) ? undefined : at - this.#options.now();
  }
}
