import { Circuit } from './circuit.ts';
import { type Guard, type Pass, passOf } from './guard.ts';

/** A pause after a failed trial is at least this factor longer than the one before. */
const LONGER_EACH_TIME = 1.5;

export interface PauseDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Epoch milliseconds: `Retry-After` may be a date. */
  readonly wallNow: () => number;
  readonly onTransition: (transition: PauseTransition) => void;
}

export interface PauseOptions {
  /** The length of a pause when the indexer does not name one, in milliseconds. */
  readonly defaultMs: number;
  /** The longest pause that is kept, whatever the indexer asks for, in milliseconds. */
  readonly longestMs: number;
}

/**
 * `begun`: a pause of so many milliseconds began, and none was running; the pauses that follow it without an answer
 * between them are not reported. `ended`: a trial was answered.
 */
export type PauseTransition = { readonly state: 'begun'; readonly ms: number } | { readonly state: 'ended' };

/**
 * The pause that the indexer, or the provider in front of it, asks for with 429. Until its end nothing is sent. Then
 * one request is sent as a trial. The others follow when it is answered, unless with a 5xx. A 429 to the trial begins the next pause,
 * longer than the one before.
 */
export class Pause implements Guard {
  readonly reason = 'paused';
  readonly #dependencies: PauseDependencies;
  readonly #options: PauseOptions;
  readonly #circuit: Circuit;
  /** The length of the longest of the pauses in a row; 0 after a trial was answered. */
  #lengthMs = 0;

  constructor(dependencies: PauseDependencies, options: PauseOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#circuit = new Circuit(dependencies.now);
  }

  get isOpen(): boolean {
    return this.#circuit.isOpen;
  }

  get retryAfterMs(): number {
    return this.#circuit.retryAfterMs;
  }

  admit(): Pass | undefined {
    const admitted = this.#circuit.admit();
    if (admitted === 'open') return undefined;
    const isTrial = admitted === 'trial';
    return passOf((outcome, retryAfter) => {
      if (isTrial) this.#circuit.forgetTrial();
      if (outcome === 'rate-limited') this.#begin(retryAfter, isTrial);
      // Only a trial ends the pause: other requests were sent before it began.
      else if (isTrial && (outcome === 'answered' || outcome === 'client-error')) this.#end();
    });
  }

  #end(): void {
    this.#lengthMs = 0;
    this.#circuit.close();
    this.#dependencies.onTransition({ state: 'ended' });
  }

  #begin(retryAfter: string | undefined, afterTrial: boolean): void {
    const { onTransition } = this.#dependencies;
    const { longestMs } = this.#options;
    const askedMs = this.#asked(retryAfter);
    const ms = Math.min(longestMs, afterTrial ? Math.max(askedMs, this.#lengthMs * LONGER_EACH_TIME) : askedMs);
    if (this.#lengthMs === 0) onTransition({ state: 'begun', ms });
    this.#lengthMs = Math.max(this.#lengthMs, ms);
    this.#circuit.open(ms);
  }

  /** The pause that `Retry-After` asks for (RFC 9110 10.2.3: seconds or a date), or else the default. */
  #asked(retryAfter: string | undefined): number {
    const askedMs = this.#parse(retryAfter) ?? 0;
    return askedMs > 0 ? askedMs : this.#options.defaultMs;
  }

  #parse(retryAfter: string | undefined): number | undefined {
    if (retryAfter === undefined) return undefined;
    if (/^\s*[0-9]+\s*$/.test(retryAfter)) return Number(retryAfter) * 1000;
    const at = Date.parse(retryAfter);
    return Number.isNaN(at) ? undefined : at - this.#dependencies.wallNow();
  }
}
