import type { EpochMs, MonotonicMs } from '../time-units.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Watchable } from '../ton/watchable.ts';

/** A key that clients ask for, of an operation whose answers can be watched, and what the stream has said about it. */
export interface Watch {
  readonly call: Call;
  readonly key: string;
  /** The accounts that the request names. */
  readonly accounts: readonly string[];
  /** What the newest answer lists. */
  listed: Watchable;
  /** When a client last asked, in monotonic milliseconds. */
  usedAt: number;
  /** Whether it was asked for twice within 2 s: only then its names are subscribed to. */
  isPolled: boolean;
  /** Whether a client has polled the key since it was last refreshed because of an event. */
  isRefreshDue: boolean;
  /** Answers that were asked for up to here may lack a change. Epoch milliseconds, by the clock of the entries. */
  changedAt: number;
  /** When the newest answer with the longer life was asked for, in epoch milliseconds. */
  extendedAt: number;
}

/** What is subscribed to: accounts, each `0:UPPERCASE HEX`, and traces, each a normalized hash in padded base64. */
export interface StreamNames {
  readonly accounts: ReadonlySet<string>;
  readonly traces: ReadonlySet<string>;
}

/** No names. */
const NO_NAMES: StreamNames = { accounts: new Set(), traces: new Set() };

export interface WatchesDependencies {
  /** Called when the names to subscribe to may have changed. */
  readonly onNames: () => void;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
}

/** A watch ends when nobody has asked for so long: one that is polled, and any other. */
const IDLE_MS = 10_000;
const POLLED_WITHIN_MS = 2000;
const LOOK_FOR_IDLE_EVERY_MS = 1000;

/** The most watches: the keys of 2 s at 5000 new ones a second. */
const MOST_WATCHES = 10_000;

/** The keys that clients ask for, each until nobody has asked for it for 2 s, or for 10 s if it was polled. */
export class Watches {
  readonly #dependencies: WatchesDependencies;
  /** By key, the oldest watch first. */
  readonly #watches = new Map<string, Watch>();
  /** By the accounts of requests and the traces of answers: whom an event concerns. */
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

  /** Those that are subscribed to. */
  polled(): readonly Watch[] {
    return this.all().filter(({ isPolled }) => isPolled);
  }

  /** The watches whose request names one of these accounts, or whose answer lists one of these traces. */
  naming(names: Iterable<string>): ReadonlySet<Watch> {
    return new Set([...names].flatMap((name) => [...(this.#byName.get(name) ?? [])]));
  }

  /** To be called for each request of a client; those of operations whose answers can be watched are. */
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

  /** Sets what the newest answer to a key lists. */
  setListed(watch: Watch, listed: Watchable): void {
    for (const trace of watch.listed.traces) this.#unname(trace, watch);
    for (const trace of listed.traces) this.#name(trace, watch);
    watch.listed = listed;
    this.#dependencies.onNames();
  }

  /**
   * The names to subscribe to: all hashes of traces, and at most so many accounts. Those of requests come before those
   * of answers, and those of older watches before those of newer ones, so that polled keys do not displace each other.
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

  /** The names whose events the server sends, as it has acknowledged on a connection that lasts. */
  get acknowledged(): StreamNames {
    return this.#acknowledged;
  }

  /** The server sends the events of these names from now on, and of no others. */
  acknowledge(names: StreamNames): void {
    const added = names.accounts.difference(this.#acknowledged.accounts);
    this.#acknowledged = names;
    for (const watch of this.naming(added)) watch.changedAt = this.#dependencies.now();
  }

  /** The connection is lost, and nothing is announced any more. */
  lost(): void {
    this.#acknowledged = NO_NAMES;
    for (const watch of this.all()) watch.changedAt = this.#dependencies.now();
  }

  /** Ends all watches. Keys that are still polled will be watched anew. */
  clear(): void {
    this.#watches.clear();
    this.#byName.clear();
    this.#dependencies.onNames();
  }

  close(): void {
    clearInterval(this.#lookForIdle);
  }

  /** What was asked for before does not count: events may have come meanwhile that nobody heeded. */
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
