import type { LookupAddress } from 'node:dns';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MonotonicMs, Ms } from '../time-units.ts';

export interface NameDependencies {
  /** Asks the system's resolver. */
  readonly lookUp: () => Promise<readonly LookupAddress[]>;
  readonly now: () => MonotonicMs;
}

/** The addresses of a name, one or more. */
export interface FoundAddresses {
  /** The address that last worked comes first, the others in the order of the resolver. */
  readonly addresses: readonly LookupAddress[];
  /** True if an earlier look-up found them: they may have changed since. */
  readonly isRemembered: boolean;
}

/** Addresses up to this age are used without a look-up. */
const FRESH_MS: Ms = 5000;

/** Up to this age they are used while a look-up is under way: so a changed address takes effect within 10 s. */
const FOLLOWED_MS: Ms = 10_000;

/** After this time of a look-up, older addresses are used instead. A resolver nearby answers within 10 ms. */
const PATIENCE_MS: Ms = 50;

/** Addresses up to this age are still used while the resolver is slow or fails. */
const LAST_GOOD_MS: Ms = 300_000;

/** The resolver's answers for a name that does not exist, or has no address. */
const NO_SUCH_NAME = ['ENOTFOUND', 'ENODATA'];

/**
 * The addresses of one name. At most one look-up is under way, and its answer serves all concurrent callers. The last
 * good addresses outlive a resolver that is slow or fails. They do not outlive its "no such name", nor a failed
 * connection to them: another host may have them by then.
 */
export class Name {
  readonly #dependencies: NameDependencies;
  #addresses: readonly LookupAddress[] = [];
  #foundAt: MonotonicMs = 0;
  /** The address that last worked. */
  #best: string | undefined;
  #lookup: { readonly found: Promise<FoundAddresses>; readonly startedAt: MonotonicMs } | undefined;

  constructor(dependencies: NameDependencies) {
    this.#dependencies = dependencies;
  }

  /** The addresses to connect to now. Rejects with the resolver's error. */
  async find(): Promise<FoundAddresses> {
    const remembered = { addresses: this.#addresses, isRemembered: true };
    const ageMs = this.#ageMs;
    if (ageMs <= FRESH_MS) return remembered;
    const { found, startedAt } = this.#lookUp();
    if (ageMs <= FOLLOWED_MS) return remembered;
    if (ageMs <= LAST_GOOD_MS) {
      const patienceMs = Math.max(0, startedAt + PATIENCE_MS - this.#dependencies.now());
      await Promise.race([found.catch(() => {}), sleep(patienceMs)]);
      // They may have been forgotten in the meantime.
      if (this.#ageMs <= LAST_GOOD_MS) return { addresses: this.#addresses, isRemembered: this.#ageMs > FOLLOWED_MS };
    }
    return found;
  }

  /** A connection to this address works. */
  worked(address: string): void {
    this.#best = address;
    this.#addresses = this.#inOrder(this.#addresses);
  }

  /** A connection to this address failed: it is not used until the resolver returns it again. */
  failed(address: string): void {
    if (this.#best === address) this.#best = undefined;
    this.#addresses = this.#addresses.filter((each) => each.address !== address);
  }

  /** No connection could be opened. */
  forget(): void {
    this.#addresses = [];
  }

  /** A connection was lost, perhaps because the name has moved: the resolver is asked before the next connection. */
  doubt(): void {
    this.#foundAt = Math.min(this.#foundAt, this.#dependencies.now() - FOLLOWED_MS - 1);
  }

  /** Since the addresses were found; infinite without addresses. */
  get #ageMs(): Ms {
    return this.#addresses.length === 0 ? Number.POSITIVE_INFINITY : this.#dependencies.now() - this.#foundAt;
  }

  #lookUp() {
    if (this.#lookup === undefined) {
      this.#lookup = { found: this.#ask(), startedAt: this.#dependencies.now() };
      // If no caller waits for the look-up, its failure must not be an unhandled rejection.
      this.#lookup.found.catch(() => {});
    }
    return this.#lookup;
  }

  async #ask(): Promise<FoundAddresses> {
    const { lookUp, now } = this.#dependencies;
    try {
      this.#addresses = this.#inOrder(await lookUp());
      this.#foundAt = now();
      return { addresses: this.#addresses, isRemembered: false };
    } catch (error) {
      if (error instanceof Error && 'code' in error && NO_SUCH_NAME.includes(String(error.code))) this.forget();
      throw error;
    } finally {
      this.#lookup = undefined;
    }
  }

  #inOrder(addresses: readonly LookupAddress[]): readonly LookupAddress[] {
    const isBest = ({ address }: LookupAddress) => address === this.#best;
    return [...addresses.filter(isBest), ...addresses.filter((each) => !isBest(each))];
  }
}
