import type { EpochMs, MonotonicMs } from '../../time-units.ts';
import { type MetricSample, Samples } from '../samples.ts';
import type { Failures } from './causes.ts';
import { LastMinute } from './last-minute.ts';
import { type Counted, countedIn, readNumbers, type StatusNumbers } from './numbers.ts';
import { ofMinute, saidOfMinute } from './refusing.ts';
import { besides, LEVELS, type Verdict, verdictOf } from './verdict.ts';

/** When somebody asks, a moment this old is replaced by a new one: so who asks each second gets a new one each time. */
const SHOWN_MS = 900;

/** How often the metrics are looked at while nobody asks: once a second made hits 5 % dearer. */
const UNWATCHED_MS = 5000;

/** Ratios, latencies and the verdict cover this time. */
const WINDOW_MS = 10_000;

/** Amber is kept for so long after its last cause, and of two amber causes the first: what comes and goes is one. */
const STEADY_MS = 10_000;

/** Red is kept for so long after the last failure, and a level that is back within this time has lasted all the while. */
const LASTING_MS = 60_000;

const KEPT_MS = 5 * 60_000;

/** What was saved is counted over an hour, from a look of each minute. */
const [HOUR_MS, MINUTE_MS] = [3_600_000, 60_000];

/** What is known of one second. */
export interface StatusMoment extends StatusNumbers {
  readonly at: EpochMs;
  /** `since`: when it was first so, epoch milliseconds. */
  readonly verdict: Verdict & { readonly since: number };
  /** The requests of the last hour, or since the start, that were answered; those of them that were saved; and the older answers that were served. */
  readonly hour: Readonly<Record<'seconds' | 'requests' | 'saved' | 'olderAnswers', number>>;
}

export interface StatusHistoryDependencies {
  readonly samples: () => Promise<readonly MetricSample[]>;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly onBug: (error: unknown) => void;
  /** How indexers and Redis last failed. */
  readonly failures: Failures;
  /** Called when the level changes. */
  readonly onVerdict: (verdict: Verdict) => void;
}

/** Looks at the metrics all the time and keeps the last five minutes, so that a page that is opened shows them. */
export class StatusHistory {
  readonly #dependencies: StatusHistoryDependencies;
  readonly #timer: NodeJS.Timeout;
  readonly #moments: StatusMoment[] = [];
  readonly #minute = new LastMinute(WINDOW_MS + SHOWN_MS / 2);
  /** Of each level, when it last began and when it was last so. */
  readonly #spans = new Map<Verdict['level'], { readonly since: EpochMs; readonly lastAt: MonotonicMs }>();
  #levelUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  #causeUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** Of each minute of the last hour, oldest first. */
  readonly #minutes: Counted[] = [];
  #reading: Promise<void> | undefined;

  constructor(dependencies: StatusHistoryDependencies) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.moments(), UNWATCHED_MS).unref();
  }

  /** The moments that are kept, oldest first; at least one, and the last is of this second. */
  async moments(): Promise<readonly StatusMoment[]> {
    const { monotonic, onBug } = this.#dependencies;
    const lookedAt = this.#minute.window.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
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
    const { samples, monotonic, now, failures } = this.#dependencies;
    const newest = new Samples(await samples(), monotonic());
    this.#minute.add(newest);
    const [oldest = newest, ...others] = this.#minute.window;
    const at = now();
    const verdict = this.#steady(verdictOf(oldest, newest, failures, this.#minute), at);
    const hour = this.#countHour(countedIn(newest));
    this.#moments.push({ at, verdict, hour, ...readNumbers([oldest, ...others]) });
    while (at - (this.#moments[0]?.at ?? at) > KEPT_MS) this.#moments.shift();
  }

  /**
   * The verdict that is said: a worse one at once, a better one when the last worse one is over for a while, and so another
   * one of the same level, but for the part that is refused, which always says what is true now.
   */
  #steady(found: Verdict, at: EpochMs): StatusMoment['verdict'] {
    const now = this.#dependencies.monotonic();
    const said = this.#moments.at(-1)?.verdict ?? { ...found, level: LEVELS[0], since: at };
    const rise = LEVELS.indexOf(found.level) - LEVELS.indexOf(said.level);
    const isRed = found.level === 'refusing';
    if (rise < 0 && now < this.#levelUntil) return this.#kept(said, found, at);
    this.#levelUntil = now + (isRed ? LASTING_MS - this.#minute.quietMs : STEADY_MS);
    const isOther = rise === 0 && found.runbook !== said.runbook;
    if (isOther && found.level === 'degraded' && now < this.#causeUntil) return this.#kept(said, found, at);
    this.#causeUntil = now + STEADY_MS;
    if (rise !== 0) this.#dependencies.onVerdict(found);
    return { ...found, since: this.#since(found.level, at) };
  }

  /** What was said and still is, with what is true now: of the last minute, and beside it. */
  #kept(said: StatusMoment['verdict'], found: Verdict, at: EpochMs): StatusMoment['verdict'] {
    const { also, ...worst } = found;
    const others = found.level === 'serving' ? [] : [worst, ...also];
    const { failures } = this.#dependencies;
    const now =
      said.level === 'refusing' && (ofMinute(this.#minute, failures) ?? { summary: saidOfMinute(this.#minute) });
    const kept = { ...said, ...now };
    return { ...kept, also: besides(kept, others), since: this.#since(said.level, at) };
  }

  /** When a level began that holds now: a gap of up to a minute in it does not count. */
  #since(level: Verdict['level'], at: EpochMs): EpochMs {
    const now = this.#dependencies.monotonic();
    const known = this.#spans.get(level);
    const since = known !== undefined && now - known.lastAt <= LASTING_MS ? known.since : at;
    this.#spans.set(level, { since, lastAt: now });
    return since;
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
