import type { EpochMs, MonotonicMs } from '../../time-units.ts';
import { type MetricSample, Samples } from '../samples.ts';
import { readNumbers, type StatusNumbers } from './numbers.ts';
import { LEVELS, type Verdict, verdictOf } from './verdict.ts';

/** When somebody asks, a moment this old is replaced by a new one: so who asks each second gets a new one each time. */
const SHOWN_MS = 900;

/** How often the metrics are looked at while nobody asks: once a second made hits 5 % dearer. */
const UNWATCHED_MS = 5000;

/** Ratios, latencies and the verdict cover this time. */
const WINDOW_MS = 10_000;

const KEPT_MS = 5 * 60_000;

/** What is known of one second. */
export interface StatusMoment extends StatusNumbers {
  readonly at: EpochMs;
  /** `since`: when it was first so, epoch milliseconds. */
  readonly verdict: Verdict & { readonly since: number };
}

export interface StatusHistoryDependencies {
  readonly samples: () => Promise<readonly MetricSample[]>;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly onBug: (error: unknown) => void;
}

/** Looks at the metrics all the time and keeps the last five minutes, so that a page that is opened shows them. */
export class StatusHistory {
  readonly #dependencies: StatusHistoryDependencies;
  readonly #timer: NodeJS.Timeout;
  readonly #moments: StatusMoment[] = [];
  #samples: Samples[] = [];
  #reading: Promise<void> | undefined;

  constructor(dependencies: StatusHistoryDependencies) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.moments(), UNWATCHED_MS).unref();
  }

  /** The moments that are kept, oldest first; at least one, and the last is of this second. */
  async moments(): Promise<readonly StatusMoment[]> {
    const { monotonic, onBug } = this.#dependencies;
    const lookedAt = this.#samples.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
    // Skipped while the look before is not over: a busy process looks less often.
    if (monotonic() - lookedAt >= SHOWN_MS) {
      this.#reading ??= this.#read()
        .catch(onBug)
        .finally(() => {
          this.#reading = undefined;
        });
    }
    await this.#reading;
    return this.#moments;
  }

  /** The place of the last verdict in {@link LEVELS}. */
  get level(): number {
    return Math.max(0, LEVELS.indexOf(this.#moments.at(-1)?.verdict.level ?? 'serving'));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<void> {
    const { samples, monotonic, now } = this.#dependencies;
    const newest = new Samples(await samples(), monotonic());
    const window = this.#samples.filter(({ at }) => newest.at - at <= WINDOW_MS + SHOWN_MS / 2);
    const [oldest = newest, ...others] = [...window, newest];
    this.#samples = [oldest, ...others];
    const verdict = verdictOf(oldest, newest);
    const before = this.#moments.at(-1)?.verdict;
    const at = now();
    const since = before !== undefined && before.level === verdict.level ? before.since : at;
    this.#moments.push({ at, verdict: { ...verdict, since }, ...readNumbers([oldest, ...others]) });
    while (at - (this.#moments[0]?.at ?? at) > KEPT_MS) this.#moments.shift();
  }
}
