import { type Condition, type Conditions, firstLine, LEVELS } from '../../tell/conditions.ts';
import type { EpochMs, MonotonicMs } from '../../time-units.ts';
import { type MetricSample, Samples } from '../samples.ts';
import { type Counted, countedIn, readNumbers, type StatusNumbers } from './numbers.ts';

/** A moment of this age is replaced by a new one on request: a page that asks every second gets a new one each time. */
const SHOWN_MS = 900;

/** The interval between looks at the metrics while nobody watches: once a second made hits 5 % more expensive. */
const UNWATCHED_MS = 5000;

/** Ratios and latencies cover this time. */
const WINDOW_MS = 10_000 + SHOWN_MS / 2;

const KEPT_MS = 5 * 60_000;

/** Savings are counted over an hour, from one look a minute. */
const [HOUR_MS, MINUTE_MS] = [3_600_000, 60_000];

/** The state of one second. */
export interface StatusMoment extends StatusNumbers {
  readonly at: EpochMs;
  /** How clients are served. */
  readonly level: (typeof LEVELS)[number];
  /** The first line: the level, and the worst condition. */
  readonly says: string;
  /** The present conditions, the worst first. */
  readonly conditions: readonly ShownCondition[];
  /**
   * The answered requests of the last hour, or since the start; the saved ones among them; and the served older
   * answers.
   */
  readonly hour: Readonly<Record<'seconds' | 'requests' | 'saved' | 'olderAnswers', number>>;
}

/** `since`: epoch milliseconds. */
type ShownCondition = Omit<Condition, 'since'> & { readonly since: EpochMs };

export interface StatusHistoryDependencies {
  readonly samples: () => Promise<readonly MetricSample[]>;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly onBug: (error: unknown) => void;
  readonly conditions: Pick<Conditions, 'active' | 'level'>;
  /** Brings the conditions up to date. */
  readonly tell: () => void;
}

/** Looks at the metrics all the time and keeps the last five minutes, so that a new page shows them. */
export class StatusHistory {
  readonly #dependencies: StatusHistoryDependencies;
  readonly #timer: NodeJS.Timeout;
  readonly #moments: StatusMoment[] = [];
  /** The samples of the window, oldest first. */
  #window: readonly Samples[] = [];
  /** For each minute of the last hour, oldest first. */
  readonly #minutes: Counted[] = [];
  #reading: Promise<void> | undefined;

  constructor(dependencies: StatusHistoryDependencies) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.moments(), UNWATCHED_MS).unref();
  }

  /** The kept moments, oldest first; at least one, and the last is of this second. */
  async moments(): Promise<readonly StatusMoment[]> {
    const { monotonic, onBug } = this.#dependencies;
    const lookedAt = this.#window.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
    // Skipped while the previous look is not over: a busy process looks less often.
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

  close(): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<void> {
    const { samples, monotonic, now, conditions, tell } = this.#dependencies;
    const newest = new Samples(await samples(), monotonic());
    const [oldest = newest, ...others] = [...this.#window, newest].filter((each) => newest.at - each.at <= WINDOW_MS);
    this.#window = [oldest, ...others];
    tell();
    const { active, level } = conditions;
    const at = now();
    const isAgo = (since: MonotonicMs) => at - (monotonic() - since);
    this.#moments.push({
      at,
      level: LEVELS[level] ?? LEVELS[0],
      says: firstLine(level, active[0], monotonic()),
      conditions: active.map((each) => ({ ...each, since: isAgo(each.since) })),
      hour: this.#countHour(countedIn(newest)),
      ...readNumbers([oldest, ...others]),
    });
    while (at - (this.#moments[0]?.at ?? at) > KEPT_MS) this.#moments.shift();
  }

  #countHour(now: Counted): StatusMoment['hour'] {
    const minutes = this.#minutes;
    if (now.at - (minutes.at(-1)?.at ?? Number.NEGATIVE_INFINITY) >= MINUTE_MS) minutes.push(now);
    while (now.at - (minutes[0]?.at ?? now.at) > HOUR_MS) minutes.shift();
    const first = minutes[0] ?? now;
    const requests = now.answered - first.answered;
    const saved = Math.max(0, requests - (now.sent - first.sent));
    return {
      seconds: (now.at - first.at) / 1000,
      requests,
      saved,
      olderAnswers: now.olderAnswers - first.olderAnswers,
    };
  }
}
