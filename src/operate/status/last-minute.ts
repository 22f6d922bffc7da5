import type { MonotonicMs, Ms } from '../../time-units.ts';
import { Growth, Samples } from '../samples.ts';
import { unansweredIn } from './unanswered.ts';

const MINUTE_MS: Ms = 60_000;

/** Of the looks older than the window, one in this time is kept. */
const SPARSE_MS: Ms = 4500;

/** The looks at the metrics of the last minute, and the time of the last request without an answer. */
export class LastMinute {
  readonly #windowMs: Ms;
  #looks: readonly Samples[] = [];
  #failedAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  /** `windowMs`: all looks up to this age are kept. */
  constructor(windowMs: Ms) {
    this.#windowMs = windowMs;
  }

  /** Adds the newest look. */
  add(newest: Samples): void {
    const { failed, isMostlyLimited } = unansweredIn(new Growth(this.#looks.at(-1) ?? newest, newest));
    if (failed > 0 || isMostlyLimited) this.#failedAt = newest.at;
    const kept: Samples[] = [];
    for (const look of [...this.#looks, newest]) {
      const ageMs = newest.at - look.at;
      const sinceKept = look.at - (kept.at(-1)?.at ?? Number.NEGATIVE_INFINITY);
      if (ageMs <= this.#windowMs || (ageMs <= MINUTE_MS && sinceKept >= SPARSE_MS)) kept.push(look);
    }
    this.#looks = kept;
  }

  /** The looks of the window, oldest first; at least one after the first {@link add}. */
  get window(): readonly Samples[] {
    const now = this.#looks.at(-1)?.at ?? 0;
    return this.#looks.filter(({ at }) => now - at <= this.#windowMs);
  }

  /** The growth of the counters in the minute. */
  get growth(): Growth {
    const [oldest = new Samples([], 0)] = this.#looks;
    return new Growth(oldest, this.#looks.at(-1) ?? oldest);
  }

  /** The time for which every request has got its answer. */
  get quietMs(): Ms {
    return (this.#looks.at(-1)?.at ?? 0) - this.#failedAt;
  }
}
