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
  /** Called when a stretched answer had changed and no event said so. */
  readonly onMissed: () => void;
  /** Loads the key again, as for a client. Resolves when that has ended; never rejects. */
  readonly refresh: (call: Call, key: string) => Promise<void>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
}

export interface PushedFreshnessOptions {
  /** How long a stretched answer lives, in milliseconds. */
  readonly stretchedMs: number;
}

/** An answer of the indexer that is about to be stored. */
export interface ObtainedAnswer {
  /** What {@link PushedFreshness.mark} gave before the indexer was asked. */
  readonly mark: number;
  /** `undefined` if the answer cannot be watched. */
  readonly watchable: Watchable | undefined;
  readonly entry: Entry;
}

/** If no event comes within this time after a change was seen, in milliseconds, it counts as missed. */
const EVENT_WITHIN_MS = 500;

/**
 * What events do to the entries of watched keys in this process. An event makes the entries that it concerns stale, and
 * refreshes the keys that are polled. An answer is stretched if each of its changes would be announced and no event has
 * come since it was asked for: it stays fresh for longer, only in memory and without a
 * stale-while-revalidate window. No request ever
 * fails because of an event, or because of a missing one.
 */
export class PushedFreshness {
  readonly #dependencies: PushedFreshnessDependencies;
  readonly #options: PushedFreshnessOptions;
  readonly #traces = new TraceEvents();

  constructor(dependencies: PushedFreshnessDependencies, options: PushedFreshnessOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** To be called before the indexer is asked: an event after the mark may announce a change that the answer lacks. */
  mark(): number {
    return this.#dependencies.ticks.now;
  }

  /** Takes a new answer. Returns the entry that memory keeps instead; `undefined` if the key is not watched. */
  answered({ mark, watchable, entry }: ObtainedAnswer): Entry | undefined {
    const { watches, isTrusted, monotonic } = this.#dependencies;
    const { stretchedMs } = this.#options;
    const watch = watches.get(entry.key);
    if (watch === undefined || mark < watch.answeredMark) return undefined;
    const copy = { ...entry, watched: { mark } };
    if (watchable === undefined) return copy;
    const hasRoom = watches.setNames(watch, [...watchable.accounts, ...watchable.traces]);
    const now = monotonic();
    // The answer may list a trace for the first time, whose earlier events did not count for this watch. They do now.
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

  /** The entry as it is after the events that have come. Called at each look-up. */
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
   * Takes an event. It concerns the keys whose answer lists its trace, and those whose request names one of its accounts,
   * because their next answer may list it. It does not concern keys whose answer only lists other traces of the same
   * accounts.
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

  /** Whether the server has sent every event of the watched names since the indexer was asked. */
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
    if (watch.isRefreshing || monotonic() - watch.askedAt > POLLED_WITHIN_MS) return;
    watch.isRefreshing = true;
    await refresh(watch.call, watch.key);
    // The refresh may have joined a load that had asked before the event, or another event may have come during it.
    if (watch.isBehind) await refresh(watch.call, watch.key);
    watch.isRefreshing = false;
  }
}

/** Redis holds the entry with its usual lifetime, so memory must not ask Redis while the stretched one lasts. */
function stretched(copy: Entry & { readonly watched: { readonly mark: number } }, lifetimeMs: number): Entry {
  const { freshUntil, staleWhileRevalidate, staleIfError, watched } = copy;
  const longerMs = lifetimeMs - copy.lifetime;
  return {
    ...copy,
    memoryTtl: lifetimeMs,
    freshUntil: freshUntil + longerMs,
    staleWhileRevalidate: 0,
    staleIfError: Math.max(0, staleIfError - longerMs),
    watched: { ...watched, unstretched: { freshUntil, staleWhileRevalidate, staleIfError } },
  };
}

/** The entry after an event: from `now` on it is served only if the indexer fails or the request is shed. */
function ended(entry: Entry, now: number): Entry {
  const freshUntil = Math.min(entry.freshUntil, now);
  const staleIfError = Math.floor(entry.freshUntil + entry.staleIfError - freshUntil);
  return { ...entry, freshUntil, staleWhileRevalidate: 0, staleIfError };
}
