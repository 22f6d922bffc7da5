// eslint-disable-next-line no-restricted-syntax -- a name only has to differ from those of all instances
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../reason-of.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import type { PurgeRequest } from '../ton/purge-selector.ts';
import { type Ban, Bans } from './bans.ts';
import { type BansInRedis, exchangeBans, type RunScript } from './exchange-bans.ts';

/** The events of purges, for metrics and log. */
export type PurgeEvent =
  /** This instance was asked to purge. `notReached`: why Redis did not accept the ban, if it did not. */
  | ({ readonly name: 'purged'; readonly notReached: string | undefined } & Omit<PurgeRequest, 'tag'>)
  /** Other instances have purged: this many bans were new here. */
  | { readonly name: 'purges-followed'; readonly bans: number }
  /** Why bans could not be exchanged, each time. */
  | { readonly name: 'redis-error'; readonly reason: string }
  /** True if the bans of other instances can be read from Redis while it is connected. Reported on each change. */
  | {
      readonly name: 'redis-available';
      readonly operation: 'purges';
      readonly available: boolean;
      readonly reason: string | undefined;
    };

/** The result of a purge. This process is purged in any case. */
export interface PurgeOutcome {
  /** Entries requested up to this instant are purged. */
  readonly at: EpochMs;
  /** Why Redis did not accept the ban, which is sent again until it does; `undefined` if it did. */
  readonly notReached: string | undefined;
  /** The number of instances that apply it, including this one; `undefined` if unknown. */
  readonly instances: number | undefined;
}

export interface PurgesDependencies {
  /** Absent without Redis: then a purge only reaches this process. */
  readonly runScript: RunScript | undefined;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  /** Called with Redis' time at each of its answers, and with the instant of the request. */
  readonly onServerTime: (time: EpochMs, sentAt: MonotonicMs) => void;
  readonly report: (event: PurgeEvent) => void;
  /** The name under which it counts as an instance. Empty: it is not one, and forgets no bans of others. */
  readonly instance?: string | undefined;
  /** Where bans are in Redis. */
  readonly keys: BansInRedis['keys'];
  /** The longest time for which an entry can be of use. Bans are kept for an hour longer, and for at least 25 h. */
  readonly usableMs: Ms;
}

/** All instances know each purge within a second, including the way to Redis and back. */
const EXCHANGE_EVERY_MS = 500;

/** Instances on one Redis may differ in their lifetimes: bans are kept for longer than this in any case. */
const SHORTEST_USABLE_MS = 24 * 60 * 60 * 1000;

/** For clocks that differ, and for loads under way. */
const KEPT_LONGER_MS = 60 * 60 * 1000;

/**
 * A purge that is dated further ahead than this was dated by a wrong clock, and the call does not wait for its instant.
 */
const LONGEST_WAIT_MS = 1000;

/** A `changed` that Redis never returns. */
const NOTHING_SEEN = '-';

/**
 * Purges by tag, applied to entries on use, and shared among instances. Every instance sends its purges to Redis, and
 * reads all bans when they have changed. It sends a known ban again if Redis lacks it, so neither a lost reply nor a
 * Redis that lost its data loses a ban.
 */
export class Purges {
  readonly bans: Bans;
  readonly #dependencies: PurgesDependencies;
  readonly #store: BansInRedis;
  readonly #timer: NodeJS.Timeout | undefined;
  /** The `changed` of the bans at the last read, if Redis lacked none of the bans that are known here. */
  #seen = NOTHING_SEEN;
  #isConnected = false;
  #isCurrent: boolean;
  #isAvailable = true;
  #instances = 1;
  #polled: readonly string[] = [];
  #purged: (tag: string) => void = () => {};

  constructor(dependencies: PurgesDependencies) {
    const { keys, usableMs, instance = randomUUID() } = dependencies;
    this.#dependencies = dependencies;
    const keptMs = instance === '' ? Number.MAX_SAFE_INTEGER : Math.max(usableMs, SHORTEST_USABLE_MS) + KEPT_LONGER_MS;
    this.#store = { keys, keptMs, instance, polls: () => [] };
    this.bans = new Bans(dependencies.now);
    this.#isCurrent = dependencies.runScript === undefined;
    this.#timer = dependencies.runScript && setInterval(() => void this.exchange(), EXCHANGE_EVERY_MS).unref();
  }

  /**
   * True if all bans are known that Redis had half a second ago. While this is false, Redis may hold purged entries
   * without this process knowing it, and must not be used.
   */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /**
   * The number of instances that exchange bans, including this one, by Redis' last answer; 1 without Redis. Ended
   * instances count for 2 s more.
   */
  get instances(): number {
    return this.#instances;
  }

  /** The number of instances that say of this that their clients poll it, by Redis' last answer. */
  instancesPolling(what: string): number {
    return this.#polled.filter((polled) => polled === what).length;
  }

  /** From now on each exchange says what clients poll here. Call once. */
  say(polls: () => readonly string[]): void {
    this.#store.polls = polls;
  }

  /**
   * From now on calls this with the tag of each purge that is new here: earlier entries with it are useless now. Call
   * once, when everything that keeps answers is built.
   */
  onPurged(purged: (tag: string) => void): void {
    this.#purged = purged;
  }

  /** Call when Redis was connected, or the connection was lost or could not be opened. */
  readonly onRedisTransition = ({ state }: { readonly state: 'connected' | 'disconnected' }): void => {
    this.#isConnected = state === 'connected';
    this.#isCurrent = false;
    this.#polled = [];
    // This may be another server, or the same one with older data: read all of its bans, and send those that it lacks.
    this.#seen = NOTHING_SEEN;
    void this.exchange();
  };

  /**
   * Purges here immediately, then everywhere. Resolves when this clock has passed the instant of the purge: answers
   * that this process requests from then on are not covered, so they are stored. Never rejects.
   */
  readonly purge = async ({ selector, value, tag }: PurgeRequest): Promise<PurgeOutcome> => {
    const { runScript, now, report } = this.#dependencies;
    if (runScript === undefined) void this.exchange();
    this.#raise({ tag, at: this.bans.nextAt() });
    const { failure: notReached, instances } = await this.#send(runScript, tag);
    report({ name: 'purged', selector, value, notReached });
    const at = this.bans.atOf(tag);
    const aheadMs = at - now();
    // Timers may fire a millisecond early.
    if (aheadMs >= 0 && aheadMs <= LONGEST_WAIT_MS) await sleep(Math.ceil(aheadMs) + 2);
    return { at, notReached, instances };
  };

  /**
   * Reads the bans of others, and sends those that Redis lacks; called every half second. Without Redis it only forgets
   * old bans, at each purge. Call it also when the clock has jumped. Resolves with the reason why Redis would accept no
   * new ban, if it would not. Never rejects.
   */
  async exchange(): Promise<string | undefined> {
    const { runScript, now, report } = this.#dependencies;
    if (runScript === undefined) this.bans.trim(now(), this.#store.keptMs);
    if (runScript === undefined || !this.#isConnected) return undefined;
    try {
      const { lacking, failure } = await this.#exchangeOnce(runScript, 'known', []);
      if (lacking.length > 0) await this.#exchangeOnce(runScript, 'known', lacking);
      this.#isCurrent = this.#isConnected;
      this.#available(true, undefined);
      return failure;
    } catch (error) {
      this.#isCurrent = false;
      const reason = reasonOf(error) ?? 'Redis failed';
      if (!this.#isConnected) return reason;
      this.#available(false, reason);
      report({ name: 'redis-error', reason });
      return reason;
    }
  }

  /** No request goes to Redis after this. */
  close(): void {
    clearInterval(this.#timer);
  }

  #raise(ban: Ban): boolean {
    const isNews = this.bans.raise(ban);
    if (isNews) this.#purged(ban.tag);
    return isNews;
  }

  /**
   * Sends a new ban. Returns why Redis did not accept it, if it did not, and the number of instances that it reaches.
   * Never rejects.
   */
  async #send(runScript: RunScript | undefined, tag: string) {
    if (runScript === undefined) return { failure: undefined, instances: 1 };
    // The next exchange reads all bans: if Redis does not have this one then, it is sent again.
    this.#seen = NOTHING_SEEN;
    try {
      return await this.#exchangeOnce(runScript, 'new', [{ tag, at: this.bans.atOf(tag) }]);
    } catch (error) {
      return { failure: reasonOf(error) ?? 'Redis failed', instances: undefined };
    }
  }

  /**
   * Returns why Redis did not accept the sent bans, if it did not, the instances that have exchanged bans, and the bans
   * that Redis lacks.
   */
  async #exchangeOnce(runScript: RunScript, as: 'new' | 'known', sent: readonly Ban[]) {
    const { monotonic, onServerTime, report } = this.#dependencies;
    const seen = this.#seen;
    const sentAt = monotonic();
    const { now, failure, changed, bans, instances, polled } = await exchangeBans(
      runScript,
      this.#store,
      as,
      seen,
      sent,
    );
    onServerTime(now, sentAt);
    this.#polled = polled;
    if (instances !== undefined) this.#instances = Math.max(1, instances);
    this.bans.trim(now, this.#store.keptMs);
    const own = new Set(sent.map(({ tag }) => tag));
    const news = bans.filter((ban) => this.#raise(ban) && !own.has(ban.tag));
    if (news.length > 0) report({ name: 'purges-followed', bans: news.length });
    if (as === 'new' || changed === seen) return { failure, instances, lacking: [] };
    const inRedis = new Map(bans.map(({ tag, at }) => [tag, at]));
    const lacking = [...this.bans.all()].filter(({ tag, at }) => at > (inRedis.get(tag) ?? 0));
    this.#seen = lacking.length > 0 ? NOTHING_SEEN : changed;
    return { failure, instances, lacking };
  }

  #available(available: boolean, reason: string | undefined): void {
    if (this.#isAvailable === available) return;
    this.#isAvailable = available;
    this.#dependencies.report({ name: 'redis-available', operation: 'purges', available, reason });
  }
}
