import type { LookupAddress } from 'node:dns';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** Addresses up to this age are used without a look-up. */
const FRESH_MS: Ms = 5000;

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
  readonly #askResolver: () => Promise<readonly LookupAddress[]>;
  readonly #now: () => MonotonicMs;
  #addresses: readonly LookupAddress[] = [];
  #foundAt: MonotonicMs = 0;
  #lookup: { readonly found: Promise<readonly LookupAddress[]>; readonly startedAt: MonotonicMs } | undefined;

  constructor(askResolver: () => Promise<readonly LookupAddress[]>, now: () => MonotonicMs) {
    this.#askResolver = askResolver;
    this.#now = now;
  }

  /** The addresses to connect to now, one or more. Rejects with the resolver's error. */
  async find(): Promise<readonly LookupAddress[]> {
    if (this.#ageMs <= FRESH_MS) return this.#addresses;
    const { found, startedAt } = this.#lookUp();
    if (this.#ageMs <= LAST_GOOD_MS) {
      const patienceMs = Math.max(0, startedAt + PATIENCE_MS - this.#now());
      await Promise.race([found.catch(() => {}), sleep(patienceMs)]);
      // They may have been forgotten in the meantime.
      if (this.#ageMs <= LAST_GOOD_MS) return this.#addresses;
    }
    return found;
  }

  /** A connection to these addresses failed: they are not used until the resolver returns them again. */
  failed(addresses: readonly string[]): void {
    this.#addresses = this.#addresses.filter(({ address }) => !addresses.includes(address));
  }

  /** A connection was lost, perhaps because the name has moved: the resolver is asked before the next connection. */
  doubt(): void {
    this.#foundAt = Math.min(this.#foundAt, this.#now() - FRESH_MS - 1);
  }

  /** Since the addresses were found; infinite without addresses. */
  get #ageMs(): Ms {
    return this.#addresses.length === 0 ? Number.POSITIVE_INFINITY : this.#now() - this.#foundAt;
  }

  #lookUp() {
    if (this.#lookup === undefined) {
      this.#lookup = { found: this.#ask(), startedAt: this.#now() };
      // If no caller waits for the look-up, its failure must not be an unhandled rejection.
      this.#lookup.found.catch(() => {});
    }
    return this.#lookup;
  }

  async #ask(): Promise<readonly LookupAddress[]> {
    try {
      this.#addresses = await this.#askResolver();
      this.#foundAt = this.#now();
      return this.#addresses;
    } catch (error) {
      if (error instanceof Error && 'code' in error && NO_SUCH_NAME.includes(String(error.code))) this.#addresses = [];
      throw error;
    } finally {
      this.#lookup = undefined;
    }
  }
}
