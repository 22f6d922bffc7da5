import type { EpochMs, MonotonicMs } from '../../time-units.ts';
import { type MetricSample, Samples } from '../samples.ts';
import type { Failures } from './causes.ts';
import { LastMinute } from './last-minute.ts';
import { type Counted, countedIn, readNumbers, type StatusNumbers } from './numbers.ts';
import { ofMinute, saidOfMinute } from './refusing.ts';
import { besides, LEVELS, type Verdict, verdictOf } from './verdict.ts';

/** A moment of this age is replaced by a new one on request: a page that asks every second gets a new one each time. */
const SHOWN_MS = 900;

/** The interval between looks at the metrics while nobody watches: once a second made hits 5 % more expensive. */
const UNWATCHED_MS = 5000;

/** Ratios, latencies and the verdict cover this time. */
const WINDOW_MS = 10_000;

/**
 * Amber is kept for this long after its last cause, and the first of two amber causes as well: causes that come and go
 * count as one.
 */
const STEADY_MS = 10_000;

/** Red is kept for this long after the last failure. A level that returns within this time has lasted throughout. */
const LASTING_MS = 60_000;

const KEPT_MS = 5 * 60_000;

/** Savings are counted over an hour, from one look a minute. */
const [HOUR_MS, MINUTE_MS] = [3_600_000, 60_000];

/** The state of one second. */
export interface StatusMoment extends StatusNumbers {
  readonly at: EpochMs;
  /** `since`: its beginning, epoch milliseconds. */
  readonly verdict: Verdict & { readonly since: number };
  /**
   * The answered requests of the last hour, or since the start; the saved ones among them; and the served older
   * answers.
   */
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

/** Looks at the metrics all the time and keeps the last five minutes, so that a new page shows them. */
export class StatusHistory {
  readonly #dependencies: StatusHistoryDependencies;
  readonly #timer: NodeJS.Timeout;
  readonly #moments: StatusMoment[] = [];
  readonly #minute = new LastMinute(WINDOW_MS + SHOWN_MS / 2);
  /** For each level, its last beginning and its last occurrence. */
  readonly #spans = new Map<Verdict['level'], { readonly since: EpochMs; readonly lastAt: MonotonicMs }>();
  #levelUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  #causeUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
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
    const lookedAt = this.#minute.window.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
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
   * The reported verdict. A worse one is reported immediately, a better one only after the last worse one has been over
   * for a while. For amber, the same applies to another cause of the same level; red always has its current cause and
   * share.
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

  /** The reported verdict while it is kept, with current data: about the last minute, and additional causes. */
  #kept(said: StatusMoment['verdict'], found: Verdict, at: EpochMs): StatusMoment['verdict'] {
    const { also, ...worst } = found;
    const others = found.level === 'serving' ? [] : [worst, ...also];
    const { failures } = this.#dependencies;
    const now =
      said.level === 'refusing' && (ofMinute(this.#minute, failures) ?? { summary: saidOfMinute(this.#minute) });
    const kept = { ...said, ...now };
    return { ...kept, also: besides(kept, others), since: this.#since(said.level, at) };
  }

  /** The beginning of the present level: gaps of up to a minute do not count. */
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
