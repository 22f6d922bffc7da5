import { LEVELS, type Level } from '../../tell/conditions.ts';
import type { Counted } from '../../tell/counted.ts';
import type { Condition, Episode } from '../../tell/episode.ts';
import { causeOf, firstLine } from '../../tell/episode-words.ts';
import type { Episodes } from '../../tell/episodes.ts';
import type { Conditions } from '../../tell/present-conditions.ts';
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
  readonly level: ShownLevel;
  /** The first line: the level, since when, how bad it is, and one cause. */
  readonly says: string;
  /** The last ten, those that are not over first; the very first is that of `says` unless it is over. */
  readonly episodes: readonly ShownEpisode[];
  /** What is true and changes no level, in words. */
  readonly notes: readonly string[];
  /** The worst level in each of the last 60 minutes, the first of which began at `since`; `null` without requests. */
  readonly minutes: { readonly since: EpochMs; readonly levels: readonly (ShownLevel | null)[] };
  /** The present conditions, the worst first. */
  readonly conditions: readonly ShownCondition[];
  /**
   * The answered requests of the last hour, or since the start; the saved ones among them; and the served older
   * answers.
   */
  readonly hour: Readonly<Record<'seconds' | 'requests' | 'saved' | 'olderAnswers', number>>;
}

type ShownLevel = (typeof LEVELS)[number];

/** A time in which clients were not served as usual, or the start. */
export interface ShownEpisode extends Pick<Episode, 'indexers' | 'operations' | 'isOver'> {
  readonly level: ShownLevel | 'started';
  readonly since: EpochMs;
  /** When it stopped being true; absent while it is. */
  readonly until?: EpochMs;
  /** One cause, in the past if it is not true any more: `both indexers were unreachable (ECONNREFUSED)`. */
  readonly says: string;
  /** The section of docs/incidents.md with the steps. */
  readonly section: string;
}

/** `since`: epoch milliseconds. */
type ShownCondition = Omit<Condition, 'since' | 'because' | 'effect' | 'trueUntil'> & { readonly since: EpochMs };

export interface StatusHistoryDependencies {
  readonly sources: NumberSources & { readonly counted: Pick<Counted, 'within' | 'bounds' | 'totals'> };
  /** The p99 of the delay of the event loop since the last call, in seconds. */
  readonly loopLag: () => Promise<number>;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly onBug: (error: unknown) => void;
  readonly conditions: Pick<Conditions, 'active'>;
  readonly episodes: Pick<Episodes, 'all' | 'notes' | 'minutes'>;
  /** Brings conditions and episodes up to date. */
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
    const { sources, loopLag, monotonic, now, conditions, episodes, tell } = this.#dependencies;
    const loopLagSeconds = await loopLag();
    const looksAt = monotonic();
    const sinceMs = this.#lookedAt === undefined ? undefined : looksAt - this.#lookedAt;
    this.#lookedAt = looksAt;
    tell();
    const at = now();
    const isAgo = (since: MonotonicMs) => at - (monotonic() - since);
    const { all, minutes } = episodes;
    const indexers = sources.indexers.all.length;
    const first = all.find(({ isOver }) => !isOver);
    this.#moments.push({
      at,
      level: first === undefined ? 'OK' : upper(first.level),
      says: firstLine(first, indexers, monotonic()),
      episodes: all.map((each) => ({
        level: upper(each.level),
        since: isAgo(each.since),
        ...(each.until !== undefined && { until: isAgo(each.until) }),
        isOver: each.isOver,
        says: causeOf(each, indexers),
        indexers: each.indexers,
        operations: each.operations,
        section: each.cause.section,
      })),
      notes: episodes.notes.map((each) => causeOf(each, indexers)),
      minutes: { since: isAgo(minutes.since), levels: minutes.levels.map((level) => LEVELS[level ?? -1] ?? null) },
      conditions: conditions.active.map(({ because: _, effect: _effect, trueUntil: _until, since, ...each }) => ({
        ...each,
        since: isAgo(since),
      })),
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

// The cast: no episode that is shown is a note.
const upper = (level: Level) => level.toUpperCase() as ShownLevel;
