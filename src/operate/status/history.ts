import type { EpochMs, MonotonicMs } from '../../time-units.ts';
import { type MetricSample, Samples } from '../samples.ts';
import { readNumbers, type StatusNumbers } from './numbers.ts';
import { LEVELS, type Verdict, verdictOf } from './verdict.ts';

/** How often the metrics are looked at, while somebody watches and while nobody does: once a second made hits 5 % dearer. */
const [WATCHED_MS, UNWATCHED_MS] = [1000, 5000];

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

  /** Somebody watches who is told of each new moment. */
  onMoment: ((moment: StatusMoment) => void) | undefined;

  constructor(dependencies: StatusHistoryDependencies) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.#lookIfDue(), WATCHED_MS).unref();
  }

  /** The moments that are kept, oldest first; at least one. */
  async moments(): Promise<readonly StatusMoment[]> {
    if (this.#ageMs >= WATCHED_MS) await this.#look();
    return this.#moments;
  }

  /** How old the last look is. */
  get #ageMs(): number {
    return this.#dependencies.monotonic() - (this.#samples.at(-1)?.at ?? Number.NEGATIVE_INFINITY);
  }

  /** Timers are a little early or late. */
  #lookIfDue(): void {
    const everyMs = this.onMoment === undefined ? UNWATCHED_MS : WATCHED_MS;
    if (this.#ageMs >= everyMs - WATCHED_MS / 2) void this.#look();
  }

  /** The place of the last verdict in {@link LEVELS}. */
  get level(): number {
    return Math.max(0, LEVELS.indexOf(this.#moments.at(-1)?.verdict.level ?? 'serving'));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Skipped while the one before is not over: a busy process looks less often. */
  #look(): Promise<void> {
    this.#reading ??= this.#read()
      .catch(this.#dependencies.onBug)
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { samples, monotonic, now } = this.#dependencies;
    const newest = new Samples(await samples(), monotonic());
    const window = this.#samples.filter(({ at }) => newest.at - at <= WINDOW_MS + WATCHED_MS / 2);
    const [oldest = newest, ...others] = [...window, newest];
    this.#samples = [oldest, ...others];
    const verdict = verdictOf(oldest, newest);
    const before = this.#moments.at(-1)?.verdict;
    const at = now();
    const since = before !== undefined && before.level === verdict.level ? before.since : at;
    const moment = { at, verdict: { ...verdict, since }, ...readNumbers([oldest, ...others]) };
    this.#moments.push(moment);
    while (at - (this.#moments[0]?.at ?? at) > KEPT_MS) this.#moments.shift();
    this.onMoment?.(moment);
  }
}
