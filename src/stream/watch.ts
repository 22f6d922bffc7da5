import type { Entry } from '../cache/entry.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Watchable } from '../ton/watchable.ts';

/** An answer to a watched key. */
export interface WatchedAnswer {
  readonly mark: number;
  readonly watchable: Watchable;
  readonly isStretched: boolean;
}

/** What a new watch is made of. */
type NewWatch = Pick<Watch, 'call' | 'key' | 'ownNames' | 'askedAt' | 'eventTick'>;

/** When an event came: its tick, epoch and monotonic milliseconds. */
interface EventInstant {
  readonly tick: number;
  readonly now: number;
  readonly monotonic: number;
}

/**
 * After a trace has left the answer and no event said so, other changes may come without an event too. For so long, in
 * milliseconds, answers are not stretched.
 */
const SETTLES_MS = 10_000;

/** How long a refresh waits for the other events of a change, which come 1 to 7 ms apart, in milliseconds. */
const GATHER_MS = 10;

/**
 * The least time between two ends of a key's freshness, in milliseconds. Without it a flood of events would cause a flood
 * of requests.
 */
const APART_MS = 100;

/** A polled key, and what the stream has said about it. */
export class Watch {
  readonly call: Call;
  readonly key: string;
  /** The accounts that the request names. They are watched whatever the answer lists. */
  readonly ownNames: readonly string[];
  /** When a client last asked, in monotonic milliseconds. */
  askedAt: number;
  answer: WatchedAnswer | undefined;
  isRefreshing = false;
  /** The tick of the latest event. At first the tick at which the watch began: answers from before do not count. */
  eventTick: number;
  #eventAt = Number.NEGATIVE_INFINITY;
  /** Answers that were asked for before this are stale: by ticks if this process asked, by epoch ms if another one did. */
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

  /** Whether the newest answer is one that an event made stale. */
  get isBehind(): boolean {
    return this.answeredMark < this.#outdatedTick;
  }

  isOutdated({ watched, askedAt }: Entry): boolean {
    return watched === undefined ? askedAt <= this.#outdatedAt : watched.mark < this.#outdatedTick;
  }

  /** Whether no event came since the mark, and no change without an event is expected. `now` in monotonic ms. */
  isQuiet(mark: number, now: number): boolean {
    return this.eventTick <= mark && now >= this.#settlesUntil;
  }

  /** Whether a new answer differs from the stretched one before it, although no event came in between. */
  isMissed({ state }: Watchable): boolean {
    const { answer } = this;
    return answer?.isStretched === true && answer.watchable.state !== state && this.eventTick <= answer.mark;
  }

  /** Whether a trace that was not final is missing from a new answer, although no event came. */
  hasLostUnsaid({ traces }: Watchable): boolean {
    const { answer } = this;
    if (answer === undefined || !answer.watchable.isAnnounced || this.eventTick > answer.mark) return false;
    return answer.watchable.traces.some((trace) => !traces.includes(trace));
  }

  /** Whether an event can change the answer: it is of a listed trace, or names an account of the request. */
  isConcerned(trace: string | undefined, accounts: readonly string[]): boolean {
    if (trace === undefined || this.answer?.watchable.traces.includes(trace) === true) return true;
    return accounts.some((account) => this.ownNames.includes(account));
  }

  /** To be called when a trace has left the answer without an event. `now` in monotonic ms. */
  expectUnsaid(now: number): void {
    this.#settlesUntil = now + SETTLES_MS;
  }

  /**
   * Takes an event that concerns this key: its answers are no longer stretched. If their freshness ended
   *
   * - up to 10 ms ago, the event is of the same change: they are stale at once, and the call of `onStale` that is due
   *   serves this event too;
   * - up to 100 ms ago, they are stale when the 100 ms are over, and `onStale` is called then;
   * - earlier, they are stale at once, and `onStale` is called 10 ms later, when the other events of the change have come.
   *
   * `onStale` is not called if a newer answer has come meanwhile.
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

  /** Makes the answers stale at `dueAt`, in monotonic ms, unless that happens earlier. */
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
