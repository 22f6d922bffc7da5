import type { Entry } from '../cache/entry.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import type { Watchable } from '../ton/watchable.ts';
import type { Frame } from './frame.ts';
import type { ReportStream } from './reports.ts';
import type { Watch, Watches } from './watches.ts';

export interface EventEffectsDependencies {
  readonly watches: Watches;
  /** Loads a key again, in the background. */
  readonly refresh: (call: Watch['call'], key: string) => void;
  readonly now: () => EpochMs;
  readonly report: ReportStream;
  /** How long an empty answer to a watched key is fresh. */
  readonly emptyWatchedMs: Ms;
}

/** An event waits this long for the other events of its change, which come 1 to 7 ms apart. */
const GATHER_MS = 10;

/** The shortest time between two ends of a key's freshness, so that a flood of events causes no flood of requests. */
const APART_MS = 100;

/**
 * The maximum number of refreshes a second, of all keys together: one busy account can be polled under a hundred keys,
 * and has many events. Above it the next client of a key waits for a load.
 */
const MOST_REFRESHES_A_SECOND = 50;

/** If no event comes within this time after a change was seen, it counts as missed. */
const EVENT_WITHIN_MS = 500;

/**
 * Applies events to the entries of watched keys in this process, by one rule: an answer requested up to the `changedAt`
 * of its watch is stale, whatever the cause. Events set this instant, and so do the acknowledgement of the accounts and
 * the loss of the connection.
 *
 * Every other answer without rows is fresh for longer while the server would announce its next row: only in memory, and
 * without stale windows. No request ever fails because of an event, or because of a missing one.
 */
export class EventEffects {
  readonly #dependencies: EventEffectsDependencies;
  readonly #gathering = new Set<Watch>();
  #second = 0;
  #remainingRefreshes = 0;

  constructor(dependencies: EventEffectsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Takes an event. It concerns keys whose answer lists its trace, and keys whose request names one of its accounts,
   * because their next answer may list it. Their entries become stale and are refreshed 10 ms later, or 100 ms after
   * the last change, whichever is later.
   */
  onEvent({ trace, accounts }: Extract<Frame, { kind: 'event' }>): void {
    const { watches, now } = this.#dependencies;
    for (const watch of watches.naming(trace === undefined ? accounts : [trace, ...accounts])) {
      if (this.#gathering.has(watch)) continue;
      this.#gathering.add(watch);
      const sinceMs = now() - watch.changedAt;
      setTimeout(
        () => {
          this.#gathering.delete(watch);
          watch.changedAt = now();
          this.#refresh(watch);
        },
        Math.max(GATHER_MS, APART_MS - sinceMs),
      ).unref();
    }
  }

  /** The entry after the events so far. Called at each look-up. */
  applyTo(entry: Entry): Entry {
    const watch = this.#dependencies.watches.get(entry.key);
    if (watch === undefined || entry.askedAt > watch.changedAt) return entry;
    return { ...entry, freshUntil: Math.min(entry.freshUntil, watch.changedAt), staleWhileRevalidate: 0 };
  }

  /**
   * Takes a new answer of the indexer. Returns the entry that memory keeps instead of it, if that is fresh for longer.
   * An answer from another cache never is, because it may be older than the last event. `watchable` is `undefined` if
   * the answer cannot be watched.
   */
  answered(entry: Entry, watchable: Watchable | undefined): Entry | undefined {
    const { watches, emptyWatchedMs } = this.#dependencies;
    const watch = watches.get(entry.key);
    if (watch === undefined || watchable === undefined) return undefined;
    watches.setListed(watch, watchable);
    if (watchable.traces.length > 0) {
      this.#countMissed(watch);
      return undefined;
    }
    const isAnnounced =
      watch.accounts.length > 0 && watch.accounts.every((name) => watches.acknowledged.accounts.has(name));
    if (!isAnnounced || entry.ageValueSeconds > 0) return undefined;
    if (entry.askedAt <= watch.changedAt || emptyWatchedMs <= entry.lifetime) return undefined;
    watch.extendedAt = entry.askedAt;
    const freshUntil = entry.freshUntil - entry.lifetime + emptyWatchedMs;
    return { ...entry, freshUntil, staleWhileRevalidate: 0, staleIfError: 0 };
  }

  /** Loads a key again, so that its next client finds a fresh answer: at most once for each poll of a client. */
  #refresh(watch: Watch): void {
    const second = Math.floor(this.#dependencies.now() / 1000);
    if (second !== this.#second) [this.#second, this.#remainingRefreshes] = [second, MOST_REFRESHES_A_SECOND];
    if (!watch.isRefreshDue || this.#remainingRefreshes === 0) return;
    this.#remainingRefreshes--;
    watch.isRefreshDue = false;
    this.#dependencies.refresh(watch.call, watch.key);
  }

  /** A watched key got an answer with rows: an event should have ended the empty answer before it. */
  #countMissed(watch: Watch): void {
    const { extendedAt } = watch;
    watch.extendedAt = Number.NEGATIVE_INFINITY;
    if (extendedAt <= watch.changedAt) return;
    const report = () => extendedAt > watch.changedAt && this.#dependencies.report({ name: 'stream-missed-event' });
    setTimeout(report, EVENT_WITHIN_MS).unref();
  }
}
