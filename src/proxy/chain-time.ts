import { isHeld, type KnownChainTime, mergeKnown, NOTHING_KNOWN, shownBy } from './known-chain-time.ts';
import { settledWithin } from './settled-within.ts';
import type { SharedChainTime } from './shared-chain-time.ts';

export interface ChainTimeDependencies {
  /**
   * Asks the indexer for the time of its newest block, epoch milliseconds; `undefined` when it cannot be learned. Never
   * rejects.
   */
  readonly askHead: () => Promise<number | undefined>;
  /** The chain time that all instances of one indexer share; absent without Redis. */
  readonly shared: SharedChainTime | undefined;
  /** Epoch milliseconds, the same clock in all instances. */
  readonly now: () => number;
}

/** How long the head counts as known after an answer has shown it. It is asked for at most once in this time. */
const HEAD_HOLDS_MS = 10_000;

/**
 * With each failure to learn the head, the pause doubles up to this. On a big database the query can take 40 s, and
 * such queries must not pile up.
 */
const LONGEST_PAUSE_MS = 60_000;

/** While another instance asks the indexer, Redis is asked for its answer this often. */
const PAUSE_AFTER_ANOTHER_MS = 1000;

/** The longest that an answer waits for the head, in milliseconds. */
const LONGEST_WAIT_MS = 1000;

/** A chain time further ahead of our clock is garbage. */
const FURTHEST_AHEAD_MS = 60 * 60_000;

/**
 * The chain time: the newest time that the chain in the indexer is known to have reached. The age of transactions
 * counts from it, because an indexer that catches up commits hour-old transactions now. If it is older than the head,
 * ages come out too small and lifetimes too short, but no answer is wrong.
 *
 * Answers move it only forward, because most are about old transactions. The head moves it back if for 60 s nothing
 * showed a time that is not older: then the indexer was set back to an older state. Replicas behind one address differ,
 * so a time counts for 60 s after it was last shown.
 */
export class ChainTime {
  readonly #dependencies: ChainTimeDependencies;
  #known = NOTHING_KNOWN;
  /** When an answer last showed the head of the chain, by our clock. */
  #headSeenAt = 0;
  /** How far the head was behind our clock then. */
  #lagMs: number | undefined;
  #sharedAt = 0;
  /** When the last update began, and how long after that no other one begins. */
  #updated = { at: 0, pauseMs: 0 };
  #failures = 0;
  /** Settles when the update under way has ended, or has taken longer than an answer waits for it. */
  #update: Promise<unknown> | undefined;

  constructor(dependencies: ChainTimeDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Epoch milliseconds; `undefined` while nothing is known, or if the known time was not shown in the last 60 s: it may
   * be too late, so {@link upToDate} is to be asked.
   */
  get newestAt(): number | undefined {
    const now = this.#dependencies.now();
    return isHeld(this.#knownBy(now), now) ? this.#known.newestAt || undefined : undefined;
  }

  /**
   * Learns a time that the chain has reached by an answer. If the time is as near to our clock as the head was when
   * last known, the answer has also shown the head; an answer about last year has not.
   */
  learn(chainAt: number | undefined): void {
    const now = this.#dependencies.now();
    if (chainAt === undefined || chainAt < this.#known.newestAt || chainAt > now + FURTHEST_AHEAD_MS) return;
    this.#merge({ newestAt: chainAt, shownAt: now });
    const lagMs = now - chainAt;
    if (this.#lagMs === undefined || lagMs > this.#lagMs + HEAD_HOLDS_MS) return;
    // Keep the smallest lag: an indexer that falls behind little by little must not go on counting as being at the head.
    this.#learnHead(now, Math.min(lagMs, this.#lagMs));
    if (!isWithin(now - this.#sharedAt, HEAD_HOLDS_MS)) void this.#share(false);
  }

  /**
   * The chain time: at once if an answer of the last 10 s showed the head, else after asking for it. Waits a second at
   * most and never rejects: if nothing new is learned, it gives what was known before, however long ago that was shown;
   * `undefined` while nothing is known.
   */
  upToDate(): number | undefined | Promise<number | undefined> {
    const known = () => this.#known.newestAt || undefined;
    if (this.#isHeadKnown()) return known();
    this.#update ??= this.#begin();
    return this.#update.then(known);
  }

  #begin(): Promise<unknown> {
    const update = this.#bringUpToDate().finally(() => {
      this.#update = undefined;
    });
    return settledWithin(LONGEST_WAIT_MS, update);
  }

  async #bringUpToDate(): Promise<void> {
    if (isWithin(this.#dependencies.now() - this.#updated.at, this.#updated.pauseMs)) return;
    this.#updated = { at: this.#dependencies.now(), pauseMs: HEAD_HOLDS_MS };
    const mayAsk = await this.#share(true);
    if (this.#isHeadKnown()) return;
    if (!mayAsk) {
      // Another instance is asking: its answer will soon be in Redis.
      this.#updated = { at: this.#dependencies.now(), pauseMs: PAUSE_AFTER_ANOTHER_MS };
      return;
    }
    const headAt = await this.#dependencies.askHead();
    const now = this.#dependencies.now();
    if (headAt === undefined || headAt > now + FURTHEST_AHEAD_MS) {
      const pauseMs = Math.min(HEAD_HOLDS_MS * 2 ** this.#failures++, LONGEST_PAUSE_MS);
      this.#updated = { at: now, pauseMs };
      return;
    }
    this.#failures = 0;
    this.#merge({ newestAt: headAt, shownAt: now });
    this.#learnHead(now, now - headAt);
    void this.#share(false);
  }

  #isHeadKnown(): boolean {
    return isWithin(this.#dependencies.now() - this.#headSeenAt, HEAD_HOLDS_MS);
  }

  #learnHead(now: number, lagMs: number): void {
    this.#headSeenAt = now;
    this.#lagMs = lagMs;
  }

  /** What is known, corrected if our clock was set back since. */
  #knownBy(now: number): KnownChainTime {
    this.#known = shownBy(now, this.#known);
    return this.#known;
  }

  #merge({ newestAt, shownAt }: KnownChainTime): void {
    const now = this.#dependencies.now();
    this.#known = mergeKnown(this.#knownBy(now), shownBy(now, { newestAt, shownAt }));
  }

  /**
   * Exchanges the chain time with the other instances. Returns whether this instance may ask the indexer, if it wants
   * to.
   */
  async #share(wantsToAsk: boolean): Promise<boolean> {
    const { shared } = this.#dependencies;
    if (shared === undefined) return true;
    const now = this.#dependencies.now();
    this.#sharedAt = now;
    const merged = await shared.exchange({
      ...this.#knownBy(now),
      headSeenAt: Math.min(this.#headSeenAt, now),
      now,
      latestNewestAt: now + FURTHEST_AHEAD_MS,
      askEveryMs: wantsToAsk ? HEAD_HOLDS_MS : 0,
    });
    if (merged === undefined) return true;
    this.#merge(merged);
    const headSeenAt = Math.min(merged.headSeenAt, this.#dependencies.now());
    if (headSeenAt > this.#headSeenAt) this.#learnHead(headSeenAt, headSeenAt - merged.newestAt);
    return merged.mayAsk;
  }
}

/** A negative time means that the clock was set back. It counts as over: otherwise updates would stop for as long. */
function isWithin(elapsedMs: number, spanMs: number): boolean {
  return elapsedMs >= 0 && elapsedMs < spanMs;
}
