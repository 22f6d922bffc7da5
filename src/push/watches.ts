import type { EpochMs, MonotonicMs } from '../time-units.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Watchable } from '../ton/watchable.ts';

/** A key that clients poll, of an operation whose answers can be watched, and the stream's state for it. */
export interface Watch {
  readonly call: Call;
  readonly key: string;
  /** The accounts in the request. */
  readonly accounts: readonly string[];
  /** The rows of the newest answer. */
  listed: Watchable;
  /** The time of the last client's request, in monotonic milliseconds. */
  usedAt: number;
  /** True after two requests within 2 s: only then are its names subscribed to. */
  isPolled: boolean;
  /** True if a client has polled the key since its last refresh by an event. */
  isRefreshDue: boolean;
  /** Answers requested up to this instant may lack a change. Epoch milliseconds, by the clock of the entries. */
  changedAt: number;
  /** The request time of the newest answer with the longer life, in epoch milliseconds. */
  extendedAt: number;
}

/** The subscribed names: accounts, each `0:UPPERCASE HEX`, and traces, each a normalized hash in padded base64. */
export interface StreamNames {
  readonly accounts: ReadonlySet<string>;
  readonly traces: ReadonlySet<string>;
}

const NO_NAMES: StreamNames = { accounts: new Set(), traces: new Set() };

export interface WatchesDependencies {
  /** Called when the names to subscribe to may have changed. */
  readonly onNames: () => void;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
}

/** A watch ends after this time without a request: a polled one, and any other. */
const IDLE_MS = 10_000;
const POLLED_WITHIN_MS = 2000;
const LOOK_FOR_IDLE_EVERY_MS = 1000;

/** The maximum number of watches: the keys of 2 s at 5000 new ones a second. */
const MOST_WATCHES = 10_000;

/** The keys of clients' requests, each until 2 s without a request, or 10 s if it was polled. */
export class Watches {
  readonly #dependencies: WatchesDependencies;
  /** By key, the oldest watch first. */
  readonly #watches = new Map<string, Watch>();
  /** By the accounts of requests and the traces of answers, to find the watches that an event concerns. */
  readonly #byName = new Map<string, Set<Watch>>();
  readonly #lookForIdle: NodeJS.Timeout;
  #acknowledged = NO_NAMES;

  constructor(dependencies: WatchesDependencies) {
    this.#dependencies = dependencies;
    this.#lookForIdle = setInterval(() => this.#endIdle(), LOOK_FOR_IDLE_EVERY_MS).unref();
  }

  get(key: string): Watch | undefined {
    return this.#watches.get(key);
  }

  all(): readonly Watch[] {
    return [...this.#watches.values()];
  }

  /** The watches whose names are wanted in the subscription. */
  polled(): readonly Watch[] {
    return this.all().filter(({ isPolled }) => isPolled);
  }

  /** The watches whose request names one of these accounts, or whose answer lists one of these traces. */
  naming(names: Iterable<string>): ReadonlySet<Watch> {
    return new Set([...names].flatMap((name) => [...(this.#byName.get(name) ?? [])]));
  }

  /** Call for each request of a client. Watches its key if answers of the operation can be watched. */
  touch(call: Call, key: string): void {
    if (call.operation.watching === undefined) return;
    const now = this.#dependencies.monotonic();
    const watch = this.#watches.get(key);
    if (watch === undefined) {
      if (this.#watches.size < MOST_WATCHES) this.#begin(call, key, now);
      return;
    }
    if (!watch.isPolled && now - watch.usedAt <= POLLED_WITHIN_MS) {
      watch.isPolled = true;
      this.#dependencies.onNames();
    }
    watch.usedAt = now;
    watch.isRefreshDue = watch.isPolled;
  }

  /** Sets the rows of the newest answer to a key. */
  setListed(watch: Watch, listed: Watchable): void {
    for (const trace of watch.listed.traces) this.#unname(trace, watch);
    for (const trace of listed.traces) this.#name(trace, watch);
    watch.listed = listed;
    this.#dependencies.onNames();
  }

  /**
   * The names to subscribe to: all hashes of traces, and at most `maxAddresses` accounts. Accounts of requests come
   * before those of answers, and those of older watches before those of newer ones, so that polled keys do not displace
   * each other.
   */
  names(maxAddresses: number): StreamNames {
    const polled = this.polled();
    const own = polled.flatMap(({ accounts }) => accounts);
    const accounts = new Set([...own, ...polled.flatMap(({ listed }) => listed.accounts)]);
    return {
      accounts: new Set([...accounts].slice(0, maxAddresses)),
      traces: new Set(polled.flatMap(({ listed }) => listed.traces)),
    };
  }

  /** The names whose events the server sends, as it has acknowledged on the current connection. */
  get acknowledged(): StreamNames {
    return this.#acknowledged;
  }

  /** From now on the server sends the events of these names, and no others. */
  acknowledge(names: StreamNames): void {
    const added = names.accounts.difference(this.#acknowledged.accounts);
    this.#acknowledged = names;
    for (const watch of this.naming(added)) watch.changedAt = this.#dependencies.now();
  }

  /** The connection is lost, and no change is announced any more. */
  lost(): void {
    this.#acknowledged = NO_NAMES;
    for (const watch of this.all()) watch.changedAt = this.#dependencies.now();
  }

  /** Ends all watches. Keys that are still polled are watched again. */
  clear(): void {
    this.#watches.clear();
    this.#byName.clear();
    this.#dependencies.onNames();
  }

  close(): void {
    clearInterval(this.#lookForIdle);
  }

  /** Earlier answers do not count: events may have come in the meantime without any effect. */
  #begin(call: Call, key: string, usedAt: number): void {
    const watch: Watch = {
      call,
      key,
      accounts: call.operation.watching?.accountsIn(call.request) ?? [],
      listed: { accounts: [], traces: [] },
      usedAt,
      isPolled: false,
      isRefreshDue: false,
      changedAt: this.#dependencies.now(),
      extendedAt: Number.NEGATIVE_INFINITY,
    };
    this.#watches.set(key, watch);
    for (const account of watch.accounts) this.#name(account, watch);
  }

  #endIdle(): void {
    const now = this.#dependencies.monotonic();
    for (const watch of this.all()) {
      if (now - watch.usedAt <= (watch.isPolled ? IDLE_MS : POLLED_WITHIN_MS)) continue;
      this.#watches.delete(watch.key);
      for (const name of [...watch.accounts, ...watch.listed.traces]) this.#unname(name, watch);
      this.#dependencies.onNames();
    }
  }

  #name(name: string, watch: Watch): void {
    const named = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, named.add(watch));
  }

  #unname(name: string, watch: Watch): void {
    const named = this.#byName.get(name);
    named?.delete(watch);
    if (named?.size === 0) this.#byName.delete(name);
  }
}
