import { FURTHEST_AHEAD_MS, type PurgeRecord, type PurgeRecords } from './purge-records.ts';
import { EXCHANGE, type Exchanged, memberOf, readExchanged } from './purge-script.ts';

/** What happens to purges, for those who count and log. */
export type PurgeEvent =
  /** This instance was asked to purge, and Redis took the record or, for a reason, did not. */
  | {
      readonly name: 'purged';
      readonly selector: string;
      readonly value: number | string | true;
      readonly soft: boolean;
      readonly notReached: string | undefined;
    }
  /** Other instances purged: so many records were new here. */
  | { readonly name: 'purges-followed'; readonly records: number }
  /** Whether Redis, while there is a connection, tells the purges of others. Told when it changes. */
  | { readonly name: 'purges-available'; readonly available: boolean; readonly reason: string | undefined };

export interface PurgeLogDependencies {
  readonly records: PurgeRecords;
  /**
   * Runs a script in Redis, where instances share their records; settles within the command timeout, and at once while
   * there is no connection. Without it the purges of this process are its own.
   */
  readonly runScript:
    | ((script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>)
    | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly report: (event: PurgeEvent) => void;
}

export interface PurgeLogOptions {
  /** Of the records in Redis. */
  readonly key: string;
  /** How long an entry can be of any use, in milliseconds: an hour longer its purge is remembered, and 25 h at least. */
  readonly usableMs: number;
  /** How often Redis is asked what others purged, in milliseconds. */
  readonly pollEveryMs?: number;
}

/** What a purge came to: this process is purged in any case. */
export interface PurgeOutcome {
  /** Epoch ms: what was asked for up to then is purged. */
  readonly at: number;
  /** Why Redis did not take the record, which is sent again until it does; `undefined` when all went well. */
  readonly notReached: string | undefined;
}

/** Seen everywhere within a second, the way to Redis and back included. */
const POLL_EVERY_MS = 500;

/** Each instance keeps records for longer than this, whatever its lifetimes: younger ones must be in Redis too. */
const COUNTED_MS = 24 * 60 * 60 * 1000;

/** Clocks differ, and a flight takes its time. */
const MARGIN_MS = 60 * 60 * 1000;

/** The most records of one exchange: a script must not hold Redis up. */
const MOST_AT_ONCE = 1000;

/** Since when: return what became of the records that were sent, and nothing else. */
const NOTHING_ELSE = Number.POSITIVE_INFINITY;

/** How far back each look reaches: the clock of Redis may have been set back since the last one, and writes followed. */
const LOOK_BACK_MS = 2000;

/**
 * Keeps the bans of this process and those in Redis the same: sends what is purged here, follows what others purge, and
 * gives Redis back what it lost. Merging is idempotent, so exchanges may overlap, fail and be repeated.
 */
export class PurgeLog {
  readonly #dependencies: PurgeLogDependencies;
  readonly #options: PurgeLogOptions;
  readonly #keepMs: number;
  /** Purges of this process that Redis has not confirmed, by their name there. */
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
   * Whether the last exchange went well. While it is false, Redis may hold what was purged without this process
   * knowing it, and must not be used.
   */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** Resolves after the first exchange that went well, or when there will be none for now: after `limitMs` at the latest. */
  async ready(limitMs: number): Promise<void> {
    const timer = setTimeout(this.#firstLook.resolve, limitMs);
    await this.#firstLook.promise;
    clearTimeout(timer);
  }

  /** The connection came: what was purged meanwhile is asked for at once. */
  readonly onConnected = (): void => {
    this.#isConnected = true;
    void this.#follow();
  };

  /** The connection went, or could not be made. */
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
    // Alone: of thousands of purges in a row each would carry, and get back, those before it.
    const failure = await this.#exchange(NOTHING_ELSE, [record], 'new').then(
      (exchanged) => exchanged.failure,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    // Redis server time counts, where it is later.
    return { at: records.atOf(record) ?? record.at, notReached: failure };
  }

  /**
   * `now` went on, or back, at once: what was dated later than now is dated now, or it would purge all that is asked for
   * until then. Exchanges with Redis see to that by themselves.
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

  /** Asks what is new, and exchanges everything when the two sides do not have the same. Never rejects. */
  async #follow(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    const { records } = this.#dependencies;
    try {
      // A failover loses what was written last: then this one is missing.
      const newest = records.newest;
      const probe = newest !== undefined && newest.at > this.#lastLookAt - COUNTED_MS ? [newest] : [];
      // What Redis may have taken without this process hearing of it is no new purge, however often it is sent.
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

  /** Sends records, and takes over what became of them and what Redis has from `since` on. */
  async #exchange(since: number, sent: readonly PurgeRecord[], as: 'known' | 'new' = 'known'): Promise<Exchanged> {
    const { records, runScript } = this.#dependencies;
    if (runScript === undefined) throw new Error('there is no Redis');
    const words = sent.flatMap((record) => [as, memberOf(record), String(record.at)]);
    const args = [this.#keepMs, COUNTED_MS, since, ...words].map(String);
    const exchanged = readExchanged(await runScript(EXCHANGE, [this.#options.key], args));
    const own = new Set<string>();
    for (const record of sent) {
      const member = memberOf(record);
      // It may have been purged once more meanwhile.
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
 * What an epoch far ahead becomes: what Redis made of it, the same for all, unless Redis has lost it. An older epoch
 * must not come back, and with it what was purged.
 */
function correctEpoch(first: PurgeRecord | undefined, now: number): number {
  return first !== undefined && first.at >= now - FURTHEST_AHEAD_MS ? first.at : now;
}
