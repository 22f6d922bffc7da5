import type { Entry } from '../cache/entry.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Watchable } from '../ton/watchable.ts';
import type { Frame } from './frame.ts';
import { POLLED_WITHIN_MS } from './polled-keys.ts';
import type { Ticks } from './ticks.ts';
import { TraceEvents } from './trace-events.ts';
import type { Watch } from './watch.ts';
import type { Watches } from './watches.ts';

export interface PushedFreshnessDependencies {
  readonly watches: Watches;
  readonly ticks: Ticks;
  /** See `Subscription.sinceOf`. */
  readonly sinceOf: (name: string) => number | undefined;
  /** Whether the absence of events is believed. */
  readonly isTrusted: () => boolean;
  /** A stretched answer had changed without an event. */
  readonly onMissed: () => void;
  /** Asks the indexer anew, as if a client had asked. Resolves when that ended; never rejects. */
  readonly refresh: (call: Call, key: string) => Promise<void>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
}

export interface PushedFreshnessOptions {
  /** How long a stretched answer lives, in milliseconds. */
  readonly stretchedMs: number;
}

/** An answer of the indexer, as it is about to be stored. */
export interface ObtainedAnswer {
  /** What {@link PushedFreshness.mark} gave before the indexer was asked. */
  readonly mark: number;
  /** `undefined` where it cannot be watched. */
  readonly watchable: Watchable | undefined;
  readonly entry: Entry;
}

/** An event is missed when none came in this long after the change was seen, in milliseconds. */
const EVENT_WITHIN_MS = 500;

/**
 * What events do to the entries of watched keys in this process. An event makes those that it names stale, and refreshes
 * those that are polled. An answer whose every change is announced, and of which no event came since it was asked for, is
 * stretched: it stays fresh for longer, in memory alone and without a stale window. Nothing that an event says, or does
 * not say, fails a request.
 */
export class PushedFreshness {
  readonly #dependencies: PushedFreshnessDependencies;
  readonly #options: PushedFreshnessOptions;
  readonly #traces = new TraceEvents();

  constructor(dependencies: PushedFreshnessDependencies, options: PushedFreshnessOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** To be taken before the indexer is asked: an event that comes later may announce what the answer lacks. */
  mark(): number {
    return this.#dependencies.ticks.now;
  }

  /** Takes an answer in. Returns what memory keeps in its place; `undefined` where its key is not watched. */
  answered({ mark, watchable, entry }: ObtainedAnswer): Entry | undefined {
    const { watches, isTrusted, monotonic } = this.#dependencies;
    const { stretchedMs } = this.#options;
    const watch = watches.get(entry.key);
    if (watch === undefined || mark < watch.answeredMark) return undefined;
    const copy = { ...entry, watched: { mark } };
    if (watchable === undefined) return copy;
    const hasRoom = watches.setNames(watch, [...watchable.accounts, ...watchable.traces]);
    const now = monotonic();
    // Events of a trace that the answer before did not list were not events of this watch.
    watch.eventTick = Math.max(watch.eventTick, this.#traces.latestOf(watchable.traces));
    if (watch.isMissed(watchable)) this.#expectEvent(watch, watch.answeredMark);
    if (watch.hasLostUnsaid(watchable)) watch.expectUnsaid(now);
    const isStretched =
      hasRoom &&
      watchable.isAnnounced &&
      stretchedMs > entry.lifetime &&
      watch.isQuiet(mark, now) &&
      !this.#traces.isLeaving(watchable.traces, now) &&
      this.#isCovered(watch, mark) &&
      isTrusted();
    watch.answer = { mark, watchable, isStretched };
    return isStretched ? stretched(copy, stretchedMs) : copy;
  }

  /** What events leave of an entry, at each look at it. */
  applyEvents(entry: Entry): Entry {
    const { watches, isTrusted, now } = this.#dependencies;
    const watch = watches.get(entry.key);
    const { watched } = entry;
    if (watch === undefined) return watched?.unstretched === undefined ? entry : { ...entry, ...watched.unstretched };
    if (watch.isOutdated(entry)) return ended({ ...entry, ...watched?.unstretched }, now());
    if (watched?.unstretched === undefined || (watch.eventTick <= watched.mark && isTrusted())) return entry;
    return { ...entry, ...watched.unstretched };
  }

  /**
   * Something changed. An event of a trace concerns the keys whose answer lists it and those that ask for one of its accounts,
   * which may list it now. It does not concern those whose answer lists another trace of the same accounts.
   */
  onEvent({ type, trace, accounts }: Extract<Frame, { kind: 'event' }>): void {
    const { watches, ticks, now, monotonic } = this.#dependencies;
    const at = { tick: ticks.next(), now: now(), monotonic: monotonic() };
    const watching = watches.watching(trace === undefined ? accounts : [trace, ...accounts]);
    if (trace !== undefined && watching.size > 0) {
      this.#traces.note(trace, at.tick, at.monotonic, type === 'trace_invalidated');
    }
    for (const watch of watching) {
      if (watch.isConcerned(trace, accounts)) watch.named(at, () => void this.#refresh(watch));
    }
  }

  /** Whether every event of what it watches was sent here since the indexer was asked. */
  #isCovered(watch: Watch, mark: number): boolean {
    const { watches, sinceOf } = this.#dependencies;
    const names = watches.namesOf(watch);
    return names.size > 0 && [...names].every((name) => (sinceOf(name) ?? Number.POSITIVE_INFINITY) <= mark);
  }

  #expectEvent(watch: Watch, since: number): void {
    const { watches, onMissed } = this.#dependencies;
    setTimeout(() => {
      if (watches.get(watch.key) === watch && watch.eventTick <= since) onMissed();
    }, EVENT_WITHIN_MS).unref();
  }

  async #refresh(watch: Watch): Promise<void> {
    const { refresh, monotonic } = this.#dependencies;
    if (watch.isRefreshed || monotonic() - watch.askedAt > POLLED_WITHIN_MS) return;
    watch.isRefreshed = true;
    await refresh(watch.call, watch.key);
    // The refresh may have joined a load that had asked before the event, or another event came during it.
    if (watch.isBehind) await refresh(watch.call, watch.key);
    watch.isRefreshed = false;
  }
}

/** Redis knows nothing of the longer life, so that memory does not ask it before its end. */
function stretched(copy: Entry & { readonly watched: { readonly mark: number } }, lifetimeMs: number): Entry {
  const { freshUntil, staleWhileRevalidateUntil, staleIfErrorUntil, watched } = copy;
  const until = freshUntil - copy.lifetime + lifetimeMs;
  return {
    ...copy,
    memoryTtl: lifetimeMs,
    freshUntil: until,
    staleWhileRevalidateUntil: until,
    staleIfErrorUntil: Math.max(until, staleIfErrorUntil),
    watched: { ...watched, unstretched: { freshUntil, staleWhileRevalidateUntil, staleIfErrorUntil } },
  };
}

/** An entry that an event made stale: from `now` on it is served only where the indexer fails or a request is shed. */
function ended(entry: Entry, now: number): Entry {
  const freshUntil = Math.min(entry.freshUntil, now);
  return { ...entry, freshUntil, staleWhileRevalidateUntil: freshUntil };
}
