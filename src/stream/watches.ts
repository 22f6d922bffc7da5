import type { Call } from '../ton/parse-call.ts';
import { isAccount, WatchedNames } from './names.ts';
import { POLLED_WITHIN_MS, PolledKeys } from './polled-keys.ts';
import type { Ticks } from './ticks.ts';
import { Watch } from './watch.ts';

export interface WatchesDependencies {
  readonly ticks: Ticks;
  /** The accounts that a call asks for; other names are known from its answers. */
  readonly accountsOf: (call: Call) => readonly string[];
  /** What is to be subscribed to changed. */
  readonly onNames: () => void;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
}

export interface WatchesOptions {
  /** The most accounts that are watched at once: a provider's limit. */
  readonly maxAddresses: number;
}

/** A key that nobody asked for in this long is watched no longer, in milliseconds. */
const IDLE_MS = 10_000;
const LOOK_FOR_IDLE_EVERY_MS = 1000;

/** The most watches: one of a hash without an answer has no address that a limit would count. */
const MOST_WATCHES = 10_000;

/**
 * The keys that clients poll, while the connection is up: one that was asked for twice within 2 s is watched until nobody
 * asked for 10 s. Where the server allows no more addresses, those that are not polled give way, the least recently asked
 * for first. Those that are polled do not give way to each other: all would be subscribed to by turns, and none for long.
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

  /** The connection came up: what is polled from now on is watched. */
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

  /** Ends all watches; what is still polled begins anew. */
  forget(): void {
    for (const watch of this.#watches.values()) watch.end();
    this.#watches.clear();
    this.#names.clear();
    this.#polled.clear();
    this.#dependencies.onNames();
  }

  /** The server allows fewer addresses than was thought: the least recently asked for give way, polled or not. */
  limit(maxAddresses: number): void {
    this.#maxAddresses = Math.min(this.#maxAddresses, maxAddresses);
    this.#giveWay([...this.#watches.values()]);
  }

  /** A client asked for a key. To be called for each request: it costs one look-up where the key is watched. */
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

  /** Those that watch one of these names. */
  watching(names: readonly string[]): ReadonlySet<Watch> {
    return new Set(names.flatMap((name) => [...this.#names.watchersOf(name)]));
  }

  namesOf(watch: Watch): ReadonlySet<string> {
    return this.#names.of(watch);
  }

  /**
   * Watches these names, and the accounts that its call asks for. Returns whether there is room for all of them; if
   * not, only the accounts that its call asks for are watched, and hashes, which no limit counts.
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

  /** Ends watches, the least recently asked for first, until no more addresses are watched than may be. */
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
