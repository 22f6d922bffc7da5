import type { Entry } from '../cache/entry.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Watchable } from '../ton/watchable.ts';

/** An answer to a watched key. */
export interface WatchedAnswer {
  readonly mark: number;
  readonly watchable: Watchable;
  readonly isStretched: boolean;
}

/** A watch that begins. */
type NewWatch = Pick<Watch, 'call' | 'key' | 'ownNames' | 'askedAt' | 'eventTick'>;

/** When an event came: its tick, epoch and monotonic milliseconds. */
interface EventInstant {
  readonly tick: number;
  readonly now: number;
  readonly monotonic: number;
}

/** After a trace left the answer without a word, in milliseconds: more may change so. */
const SETTLES_MS = 10_000;

/** The events of one change come 1 to 7 ms apart: so long a refresh waits for them, in milliseconds. */
const GATHER_MS = 10;

/** Events end the freshness of a key at most once in this long, in milliseconds: a flood must not become one of requests. */
const APART_MS = 100;

/** One polled key, and what the stream said of it. */
export class Watch {
  readonly call: Call;
  readonly key: string;
  /** What it watches whatever its answer lists. */
  readonly ownNames: readonly string[];
  /** When a client asked last, monotonic milliseconds. */
  askedAt: number;
  answer: WatchedAnswer | undefined;
  /** A refresh of it is under way. */
  isRefreshed = false;
  /** The tick of the latest event; at first that of its beginning, before which no answer counts. */
  eventTick: number;
  #eventAt = Number.NEGATIVE_INFINITY;
  /** Answers that were asked for before are stale: by ticks here, by instants (epoch ms) in other processes. */
  #outdatedTick = 0;
  #outdatedAt = Number.NEGATIVE_INFINITY;
  #outdatedMonotonic = Number.NEGATIVE_INFINITY;
  #settlesUntil = Number.NEGATIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;
  #outdateLater: NodeJS.Timeout | undefined;
  #refreshLater: NodeJS.Timeout | undefined;

  constructor({ call, key, ownNames, askedAt, eventTick }: NewWatch) {
    this.call = call;
    this.key = key;
    this.ownNames = ownNames;
    this.askedAt = askedAt;
    this.eventTick = eventTick;
  }

  /** The mark of the newest answer; 0 before the first. */
  get answeredMark(): number {
    return this.answer?.mark ?? 0;
  }

  /** Whether the newest answer was asked for before the latest event that counts. */
  get isBehind(): boolean {
    return this.answeredMark < this.#outdatedTick;
  }

  isOutdated({ watched, askedAt }: Entry): boolean {
    return watched === undefined ? askedAt <= this.#outdatedAt : watched.mark < this.#outdatedTick;
  }

  /** Whether nothing was said since the mark, and nothing is to be expected to change unsaid. `now` in monotonic ms. */
  isQuiet(mark: number, now: number): boolean {
    return this.eventTick <= mark && now >= this.#settlesUntil;
  }

  /** Whether a new answer shows another state than the stretched one before, of which no event came. */
  isMissed({ state }: Watchable): boolean {
    const { answer } = this;
    return answer?.isStretched === true && answer.watchable.state !== state && this.eventTick <= answer.mark;
  }

  /** Whether a trace has left that was not final, and no event said so. */
  hasLostUnsaid({ traces }: Watchable): boolean {
    const { answer } = this;
    if (answer === undefined || !answer.watchable.isAnnounced || this.eventTick > answer.mark) return false;
    return answer.watchable.traces.some((trace) => !traces.includes(trace));
  }

  /** Whether an event can be one of its answer: of a listed trace, or of an account that is asked for. */
  isConcerned(trace: string | undefined, accounts: readonly string[]): boolean {
    if (trace === undefined || this.answer?.watchable.traces.includes(trace) === true) return true;
    return accounts.some((account) => this.ownNames.includes(account));
  }

  /** A trace left its answer without a word: more may change so. `now` in monotonic ms. */
  expectUnsaid(now: number): void {
    this.#settlesUntil = now + SETTLES_MS;
  }

  /**
   * An event is one of it: its answers are stretched no longer, and stale at once or, when they were a moment ago, soon. Calls
   * `onStale` when the events of the same change have come too.
   */
  named({ tick, now, monotonic }: EventInstant, onStale: () => void): void {
    this.eventTick = tick;
    this.#eventAt = now;
    const sinceMs = monotonic - this.#outdatedMonotonic;
    if (sinceMs <= GATHER_MS) {
      this.#outdate(this.#outdatedMonotonic);
    } else if (sinceMs < APART_MS) {
      this.#outdateBy(monotonic + APART_MS - sinceMs, monotonic, onStale);
    } else {
      this.#outdate(monotonic);
      this.#refreshLater = setTimeout(() => this.isBehind && onStale(), GATHER_MS).unref();
    }
  }

  end(): void {
    clearTimeout(this.#outdateLater);
    clearTimeout(this.#refreshLater);
  }

  /** Makes its answers stale at that instant, monotonic ms, unless something does so before it. */
  #outdateBy(dueAt: number, monotonic: number, onStale: () => void): void {
    if (dueAt >= this.#dueAt) return;
    clearTimeout(this.#outdateLater);
    this.#dueAt = dueAt;
    this.#outdateLater = setTimeout(() => {
      this.#outdate(dueAt);
      if (this.isBehind) onStale();
    }, dueAt - monotonic).unref();
  }

  #outdate(monotonic: number): void {
    clearTimeout(this.#outdateLater);
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#outdatedMonotonic = monotonic;
    this.#outdatedTick = this.eventTick;
    this.#outdatedAt = this.#eventAt;
  }
}
