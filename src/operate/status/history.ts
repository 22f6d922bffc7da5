import { type MetricSample, Samples } from '../samples.ts';
import { readNumbers, type StatusNumbers } from './numbers.ts';
import { LEVELS, type Verdict, verdictOf } from './verdict.ts';

const EVERY_MS = 1000;

/** Ratios, latencies and the verdict cover 10 s: so many samples. */
const WINDOW_SAMPLES = 11;

/** Five minutes. */
const KEPT = 300;

/** What is known of one second. */
export interface StatusMoment extends StatusNumbers {
  /** Epoch milliseconds. */
  readonly at: number;
  /** `since`: when it was first so, epoch milliseconds. */
  readonly verdict: Verdict & { readonly since: number };
}

export interface StatusHistoryDependencies {
  readonly samples: () => Promise<readonly MetricSample[]>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly onBug: (error: unknown) => void;
}

/** Looks at the metrics each second and keeps the last five minutes, so that a page that is opened shows them. */
export class StatusHistory {
  readonly #dependencies: StatusHistoryDependencies;
  readonly #timer: NodeJS.Timeout;
  readonly #moments: StatusMoment[] = [];
  #samples: Samples[] = [];
  #reading: Promise<void> | undefined;

  /** Called with each new moment. */
  onMoment: (moment: StatusMoment) => void = () => {};

  constructor(dependencies: StatusHistoryDependencies) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.#look(), EVERY_MS).unref();
  }

  /** The moments that are kept, oldest first; at least one. */
  async moments(): Promise<readonly StatusMoment[]> {
    if (this.#moments.length === 0) await this.#look();
    return this.#moments;
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
    const [oldest = newest, ...others] = [...this.#samples, newest].slice(-WINDOW_SAMPLES);
    this.#samples = [oldest, ...others];
    const verdict = verdictOf(oldest, newest);
    const before = this.#moments.at(-1)?.verdict;
    const at = now();
    const since = before !== undefined && before.level === verdict.level ? before.since : at;
    const moment = { at, verdict: { ...verdict, since }, ...readNumbers([oldest, ...others]) };
    this.#moments.push(moment);
    if (this.#moments.length > KEPT) this.#moments.shift();
    this.onMoment(moment);
  }
}
