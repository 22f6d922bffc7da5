import { FURTHEST_AHEAD_MS, type PurgeRecord, type PurgeRecords } from './purge-records.ts';
import { EXCHANGE, type Exchanged, memberOf, readExchanged } from './purge-script.ts';

/** The events of purges, for metrics and log. */
export type PurgeEvent =
  /** This instance was asked to purge. `notReached`: why Redis did not accept the record, if it did not. */
  | {
      readonly name: 'purged';
      readonly selector: string;
      readonly value: number | string | true;
      readonly soft: boolean;
      readonly notReached: string | undefined;
    }
  /** Other instances have purged: so many records were new here. */
  | { readonly name: 'purges-followed'; readonly records: number }
  /** Whether the purges of other instances can be read from Redis while it is connected. Reported when it changes. */
  | { readonly name: 'purges-available'; readonly available: boolean; readonly reason: string | undefined };

export interface PurgeLogDependencies {
  readonly records: PurgeRecords;
  /**
   * Runs a script in Redis, where instances share their records. Settles within the command timeout, and at once while
   * there is no connection. Without Redis a purge only reaches this process.
   */
  readonly runScript:
    | ((script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>)
    | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly report: (event: PurgeEvent) => void;
}

export interface PurgeLogOptions {
  /** The Redis key of the records. */
  readonly key: string;
  /**
   * The longest time in which an entry can be of use, in milliseconds. Purges are remembered for an hour longer, and
   * for 25 h at least.
   */
  readonly usableMs: number;
  /** How often Redis is asked for the purges of others, in milliseconds. */
  readonly pollEveryMs?: number;
}

/** The result of a purge. This process is purged in any case. */
export interface PurgeOutcome {
  /** Epoch ms: entries that were asked for up to then are purged. */
  readonly at: number;
  /** Why Redis did not accept the record, which is sent again until it does; `undefined` when it did. */
  readonly notReached: string | undefined;
}

/** So each purge is known to all instances within a second, including the way to Redis and back. */
const POLL_EVERY_MS = 500;

/**
 * Every instance keeps records for longer than this, whatever its lifetimes. So records younger than this must also be
 * in Redis.
 */
const COUNTED_MS = 24 * 60 * 60 * 1000;

/** For clocks that differ, and for loads under way. */
const MARGIN_MS = 60 * 60 * 1000;

/** The most records sent in one exchange: a script must not block Redis for long. */
const MOST_AT_ONCE = 1000;

/** As `since`: Redis returns no records but those that were sent. */
const NOTHING_ELSE = Number.POSITIVE_INFINITY;

/** Each exchange asks again for the records of so long before: Redis' clock may have stepped back a little. */
const LOOK_BACK_MS = 2000;

/**
 * Keeps the bans of this process and those in Redis the same: sends purges to Redis, reads those of others, and
 * restores records that Redis lost. Merging is idempotent, so exchanges may overlap, fail and be repeated.
 */
export class PurgeLog {
  readonly #dependencies: PurgeLogDependencies;
  readonly #options: PurgeLogOptions;
  readonly #keepMs: number;
  /** Purges of this process that Redis has not confirmed, by their member name in Redis. */
  readonly #unconfirmed = new Map<string, PurgeRecord>();
  readonly #firstLook = Promise.withResolvers<void>();
  readonly #ended = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #lastLookAt = 0;
  #isConnected = false;
  #isCurrent: boolean;
  #isAvailable = true;

  constructor(dependencies: PurgeLogDependencies, options: PurgeLogOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#isCurrent = dependencies.runScript === undefined;
    this.#keepMs = Math.max(options.usableMs, COUNTED_MS) + MARGIN_MS;
    if (dependencies.runScript === undefined) this.#firstLook.resolve();
    else this.#pollLater();
  }

  /**
   * Whether the last exchange succeeded. While it is false, Redis may hold entries that are purged without this process
   * knowing it, and must not be used.
   */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** Resolves after the first successful exchange, when Redis turns out to be disconnected, or after `limitMs`. */
  async ready(limitMs: number): Promise<void> {
    const timer = setTimeout(this.#firstLook.resolve, limitMs);
    await this.#firstLook.promise;
    clearTimeout(timer);
  }

  /** To be called when Redis is connected: asks at once for the purges since. */
  readonly onConnected = (): void => {
    this.#isConnected = true;
    void this.#follow();
  };

  /** To be called when the connection to Redis was lost, or could not be made. */
  readonly onDisconnected = (): void => {
    this.#isConnected = false;
    this.#isCurrent = false;
    this.#firstLook.resolve();
  };

  /** Purges here at once, then everywhere. Never rejects. */
  async purge({ tag, soft }: Omit<PurgeRecord, 'at'>): Promise<PurgeOutcome> {
    const { records, runScript, now } = this.#dependencies;
    const record = { tag, soft, at: records.nextAt({ tag, soft }) };
    records.apply(record);
    if (runScript === undefined) {
      records.trim(now() - this.#keepMs);
      return { at: record.at, notReached: undefined };
    }
    this.#unconfirmed.set(memberOf(record), record);
    // Send this record alone: otherwise each of thousands of purges in a row would carry, and get back, those before
    // it.
    const failure = await this.#exchange(NOTHING_ELSE, [record], 'new').then(
      (exchanged) => exchanged.failure,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    // The record is dated by Redis where that is later.
    return { at: records.atOf(record) ?? record.at, notReached: failure };
  }

  /**
   * To be called when `now` has jumped. Moves records from the future to now: otherwise they would purge everything
   * that is asked for until their instant. With Redis, each exchange does the same.
   */
  readonly onClockJump = (): void => {
    const { records, runScript, now } = this.#dependencies;
    if (runScript === undefined) records.trim(now() - this.#keepMs, now());
  };

  /** No exchange begins after this. */
  close(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
  }

  #pollLater(): void {
    const { pollEveryMs = POLL_EVERY_MS } = this.#options;
    this.#timer = setTimeout(() => {
      void this.#follow().finally(() => {
        if (!this.#ended.signal.aborted) this.#pollLater();
      });
    }, pollEveryMs);
    this.#timer.unref();
  }

  /** Asks for new records, and exchanges all records when both sides differ. Never rejects. */
  async #follow(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    const { records } = this.#dependencies;
    try {
      // Send the newest record along: after a failover that lost the last writes, it is missing in Redis.
      const newest = records.newest;
      const probe = newest !== undefined && newest.at > this.#lastLookAt - COUNTED_MS ? [newest] : [];
      // Sent as `known`: if Redis did accept one of these, sending it again must not be a new purge.
      const unconfirmed = [...this.#unconfirmed.values()].slice(0, MOST_AT_ONCE);
      const { now, count, failure } = await this.#exchange(this.#lastLookAt - LOOK_BACK_MS, [...probe, ...unconfirmed]);
      const isSetBack = now < this.#lastLookAt;
      this.#lastLookAt = now;
      const lacks = count !== this.#countSince(now - COUNTED_MS);
      if (isSetBack || (failure === undefined && lacks)) await this.#exchangeAll();
      this.#isCurrent = this.#isConnected;
      this.#firstLook.resolve();
      this.#available(true, undefined);
    } catch (error) {
      this.#isCurrent = false;
      if (this.#isConnected) this.#available(false, error instanceof Error ? error.message : String(error));
    }
  }

  async #exchangeAll(): Promise<void> {
    const all = [...this.#dependencies.records.all()];
    for (let from = 0; from === 0 || from < all.length; from += MOST_AT_ONCE) {
      await this.#exchange(from === 0 ? 0 : NOTHING_ELSE, all.slice(from, from + MOST_AT_ONCE));
    }
  }

  /** Sends records, and applies their instants in Redis and all records of Redis from `since` on. */
  async #exchange(since: number, sent: readonly PurgeRecord[], as: 'known' | 'new' = 'known'): Promise<Exchanged> {
    const { records, runScript } = this.#dependencies;
    if (runScript === undefined) throw new Error('there is no Redis');
    const words = sent.flatMap((record) => [as, memberOf(record), String(record.at)]);
    const args = [this.#keepMs, COUNTED_MS, since, ...words].map(String);
    const exchanged = readExchanged(await runScript(EXCHANGE, [this.#options.key], args));
    const own = new Set<string>();
    for (const record of sent) {
      const member = memberOf(record);
      // The tag may have been purged again meanwhile.
      if (this.#unconfirmed.get(member) !== record) continue;
      own.add(member);
      if (exchanged.failure === undefined) this.#unconfirmed.delete(member);
    }
    const latest = exchanged.now + FURTHEST_AHEAD_MS;
    records.trim(exchanged.now - this.#keepMs, latest);
    const believed = exchanged.records.filter(({ at }) => at <= latest);
    if (records.epoch > latest) records.correctEpoch(correctEpoch(believed[0], exchanged.now));
    const news = believed.filter((record) => records.apply(record) && !own.has(memberOf(record)));
    if (news.length > 0) this.#dependencies.report({ name: 'purges-followed', records: news.length });
    return exchanged;
  }

  #countSince(from: number): number {
    let count = 0;
    for (const { at } of this.#dependencies.records.all()) if (at >= from) count++;
    return count;
  }

  #available(available: boolean, reason: string | undefined): void {
    if (this.#isAvailable === available) return;
    this.#isAvailable = available;
    this.#dependencies.report({ name: 'purges-available', available, reason });
  }
}

/**
 * The epoch that replaces one far in the future: the one that Redis corrected it to, which is the same for all
 * instances, or now if Redis has lost it. An older epoch must not come back: it would bring back what was purged.
 */
function correctEpoch(first: PurgeRecord | undefined, now: number): number {
  return first !== undefined && first.at >= now - FURTHEST_AHEAD_MS ? first.at : now;
}
