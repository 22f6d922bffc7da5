import { LEVELS } from '../../tell/conditions.ts';
import type { Counted } from '../../tell/counted.ts';
import { type Condition, type Conditions, firstLine } from '../../tell/present-conditions.ts';
import type { EpochMs, MonotonicMs } from '../../time-units.ts';
import { type NumberSources, readNumbers, type StatusNumbers } from './numbers.ts';

/** A moment of this age is replaced by a new one on request: a page that asks every second gets a new one each time. */
const SHOWN_MS = 900;

/** The interval between looks at the numbers while nobody watches. */
const UNWATCHED_MS = 5000;

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
  readonly sources: NumberSources & { readonly counted: Pick<Counted, 'within' | 'bounds' | 'totals'> };
  /** The p99 of the delay of the event loop since the last call, in seconds. */
  readonly loopLag: () => Promise<number>;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly onBug: (error: unknown) => void;
  readonly conditions: Pick<Conditions, 'active' | 'level'>;
  /** Brings the conditions up to date. */
  readonly tell: () => void;
}

/** Looks at the numbers all the time and keeps the last five minutes, so that a new page shows them. */
export class StatusHistory {
  readonly #dependencies: StatusHistoryDependencies;
  readonly #timer: NodeJS.Timeout;
  readonly #moments: StatusMoment[] = [];
  #lookedAt: MonotonicMs | undefined;
  /** For each minute of the last hour, oldest first. */
  readonly #minutes: (Counted['totals'] & { readonly at: MonotonicMs })[] = [];
  #reading: Promise<void> | undefined;

  constructor(dependencies: StatusHistoryDependencies) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.moments(), UNWATCHED_MS).unref();
  }

  /** The kept moments, oldest first; at least one, and the last is of this second. */
  async moments(): Promise<readonly StatusMoment[]> {
    const { monotonic, onBug } = this.#dependencies;
    const lookedAt = this.#lookedAt ?? Number.NEGATIVE_INFINITY;
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
    const { sources, loopLag, monotonic, now, conditions, tell } = this.#dependencies;
    const loopLagSeconds = await loopLag();
    const looksAt = monotonic();
    const sinceMs = this.#lookedAt === undefined ? undefined : looksAt - this.#lookedAt;
    this.#lookedAt = looksAt;
    tell();
    const { active, level } = conditions;
    const at = now();
    const isAgo = (since: MonotonicMs) => at - (monotonic() - since);
    this.#moments.push({
      at,
      level: LEVELS[level] ?? LEVELS[0],
      says: firstLine(level, active[0], monotonic()),
      conditions: active.map((each) => ({ ...each, since: isAgo(each.since) })),
      hour: this.#countHour(looksAt),
      ...readNumbers(sources, sinceMs, loopLagSeconds),
    });
    while (at - (this.#moments[0]?.at ?? at) > KEPT_MS) this.#moments.shift();
  }

  #countHour(at: MonotonicMs): StatusMoment['hour'] {
    const { totals } = this.#dependencies.sources.counted;
    const { answered, sent, older } = totals;
    const minutes = this.#minutes;
    const isDue = at - (minutes.at(-1)?.at ?? Number.NEGATIVE_INFINITY) >= MINUTE_MS;
    if (isDue) minutes.push({ ...totals, at });
    while (at - (minutes[0]?.at ?? at) > HOUR_MS) minutes.shift();
    const first = minutes[0] ?? { answered, sent, older, at };
    const requests = answered - first.answered;
    return {
      seconds: (at - first.at) / 1000,
      requests,
      saved: Math.max(0, requests - (sent - first.sent)),
      olderAnswers: older - first.older,
    };
  }
}
