import type { Call } from '../ton/parse-call.ts';
import { isAccount, WatchedNames } from './names.ts';
import { POLLED_WITHIN_MS, PolledKeys } from './polled-keys.ts';
import type { Ticks } from './ticks.ts';
import { Watch } from './watch.ts';

export interface WatchesDependencies {
  readonly ticks: Ticks;
  /** The accounts that a call names. Other names are learned from its answers. */
  readonly accountsOf: (call: Call) => readonly string[];
  /** Called when the names to subscribe to have changed. */
  readonly onNames: () => void;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
}

export interface WatchesOptions {
  /** The most accounts that are watched at once: a provider's limit. */
  readonly maxAddresses: number;
}

/** The watch of a key ends when nobody has asked for it for so long, in milliseconds. */
const IDLE_MS = 10_000;
const LOOK_FOR_IDLE_EVERY_MS = 1000;

/** The most watches. The limit of addresses does not bound them: the watch of a hash without an answer has no address. */
const MOST_WATCHES = 10_000;

/**
 * The keys that clients poll, while the connection is up. A key that is asked for twice within 2 s is watched until
 * nobody has asked for it for 10 s. When the server allows no more addresses, watches that are no longer polled end, the
 * least recently asked for first. Polled keys do not push each other out: they would all take turns, and none would be
 * subscribed to for long.
 */
export class Watches {
  readonly #dependencies: WatchesDependencies;
  readonly #options: WatchesOptions;
  readonly #watches = new Map<string, Watch>();
  readonly #names = new WatchedNames<Watch>();
  readonly #polled = new PolledKeys();
  #maxAddresses: number;
  #isUp = false;
  #lookForIdle: NodeJS.Timeout | undefined;

  constructor(dependencies: WatchesDependencies, options: WatchesOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#maxAddresses = options.maxAddresses;
  }

  get count(): number {
    return this.#watches.size;
  }

  get addresses(): number {
    return this.#names.accounts;
  }

  /** All accounts and hashes that are to be subscribed to. */
  names(): Iterable<string> {
    return this.#names.all();
  }

  /** The connection is up: keys that are polled from now on are watched. */
  begin(): void {
    this.#isUp = true;
    this.#maxAddresses = this.#options.maxAddresses;
    this.#lookForIdle ??= setInterval(() => this.#endIdle(), LOOK_FOR_IDLE_EVERY_MS).unref();
  }

  /** The connection is lost: nothing is watched. */
  end(): void {
    this.#isUp = false;
    clearInterval(this.#lookForIdle);
    this.#lookForIdle = undefined;
    this.forget();
  }

  /** Ends all watches. Keys that are still polled will be watched anew. */
  forget(): void {
    for (const watch of this.#watches.values()) watch.end();
    this.#watches.clear();
    this.#names.clear();
    this.#polled.clear();
    this.#dependencies.onNames();
  }

  /** The server allows fewer addresses than expected: watches end, the least recently asked for first, polled or not. */
  limit(maxAddresses: number): void {
    this.#maxAddresses = Math.min(this.#maxAddresses, maxAddresses);
    this.#giveWay([...this.#watches.values()]);
  }

  /** To be called for each request of a client. Costs one look-up if the key is watched. */
  asked(call: Call, key: string): void {
    if (!this.#isUp) return;
    const now = this.#dependencies.monotonic();
    const watch = this.#watches.get(key);
    if (watch !== undefined) watch.askedAt = now;
    else if (this.#polled.ask(key, now) && this.#watches.size < MOST_WATCHES) this.#watch(call, key, now);
  }

  /** The watch of a key. */
  get(key: string): Watch | undefined {
    return this.#watches.get(key);
  }

  /** The watches of any of these names. */
  watching(names: readonly string[]): ReadonlySet<Watch> {
    return new Set(names.flatMap((name) => [...this.#names.watchersOf(name)]));
  }

  namesOf(watch: Watch): ReadonlySet<string> {
    return this.#names.of(watch);
  }

  /**
   * Sets the names of a watch: those that its answer names, and the accounts of its request. Returns whether there is room
   * for all of them. If not, only the hashes, which no limit counts, and the accounts of the request are watched.
   */
  setNames(watch: Watch, found: readonly string[]): boolean {
    const names = [...watch.ownNames, ...found];
    const wanted = new Set(names);
    if (!this.#names.set(watch, wanted)) return true;
    const { askedAt } = watch;
    const isIdle = (other: Watch) => other !== watch && askedAt - other.askedAt > POLLED_WITHIN_MS;
    const fits = this.#giveWay([...this.#watches.values()].filter(isIdle));
    if (!fits) {
      const few = names.filter((name) => !isAccount(name) || watch.ownNames.includes(name));
      this.#names.set(watch, new Set(few));
    }
    this.#dependencies.onNames();
    return fits;
  }

  #watch(call: Call, key: string, now: number): void {
    const watch = new Watch({
      call,
      key,
      ownNames: this.#dependencies.accountsOf(call),
      askedAt: now,
      eventTick: this.#dependencies.ticks.next(),
    });
    this.#watches.set(key, watch);
    if (!this.setNames(watch, [])) this.#end(watch);
  }

  /** Ends watches, the least recently asked for first, until the limit of addresses is kept. Returns whether it is. */
  #giveWay(watches: Watch[]): boolean {
    if (this.#names.accounts <= this.#maxAddresses) return true;
    for (const watch of watches.sort((one, other) => one.askedAt - other.askedAt)) {
      this.#end(watch);
      if (this.#names.accounts <= this.#maxAddresses) return true;
    }
    return false;
  }

  #end(watch: Watch): void {
    watch.end();
    this.#watches.delete(watch.key);
    if (this.#names.set(watch, new Set())) this.#dependencies.onNames();
  }

  #endIdle(): void {
    const now = this.#dependencies.monotonic();
    for (const watch of this.#watches.values()) if (now - watch.askedAt > IDLE_MS) this.#end(watch);
  }
}
