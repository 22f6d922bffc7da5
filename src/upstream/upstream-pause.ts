export interface UpstreamPauseOptions {
  /** How long a pause lasts when the indexer did not say, in milliseconds. */
  readonly defaultMs: number;
  /** The longest pause that is believed, in milliseconds. */
  readonly longestMs: number;
  /** Epoch milliseconds: `Retry-After` may be a date. */
  readonly now: () => number;
}

/** A rest that the indexer, or the provider before it, asked for with 429: until its end nothing is sent. */
export class UpstreamPause {
  readonly #options: UpstreamPauseOptions;
  #until = 0;

  constructor(options: UpstreamPauseOptions) {
    this.#options = options;
  }

  /** Begins a pause by a `Retry-After` (RFC 9110 10.2.3: seconds or a date); a shorter one never ends a longer. */
  begin(retryAfter: string | undefined): void {
    const now = this.#options.now();
    const askedMs = this.#parse(retryAfter, now);
    const ms = askedMs === undefined || askedMs <= 0 ? this.#options.defaultMs : askedMs;
    this.#until = Math.max(this.#until, now + Math.min(ms, this.#options.longestMs));
  }

  /** Milliseconds until the pause ends; 0 when there is none. */
  get remainingMs(): number {
    return Math.max(0, this.#until - this.#options.now());
  }

  #parse(retryAfter: string | undefined, now: number): number | undefined {
    if (retryAfter === undefined) return undefined;
    if (/^\s*[0-9]+\s*$/.test(retryAfter)) return Number(retryAfter) * 1000;
    const at = Date.parse(retryAfter);
    return Number.isNaN(at) ? undefined : at - now;
  }
}
