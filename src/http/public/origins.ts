import type { RequestHeaders } from '../../ton/parse-call.ts';

/** The first label of a host. */
const FIRST_LABEL = /^([a-z][a-z0-9+.-]*:\/\/)[a-z0-9_-]+(?=\.)/;

/**
 * The origins (RFC 6454) whose pages may read answers, if there is a list. Origins are compared byte for byte. A star in
 * the list stands for one label, the first of a host. A request without an origin is not one of a page of another site.
 */
export class Origins {
  readonly #allowed: ReadonlySet<string> | undefined;

  /** `undefined` allows any origin. */
  constructor(allowed?: readonly string[]) {
    this.#allowed = allowed && new Set(allowed);
  }

  /** True if answers depend on the origin. */
  get areListed(): boolean {
    return this.#allowed !== undefined;
  }

  /** True for a request from a page that may not read its answer. */
  refuses({ origin }: RequestHeaders): boolean {
    return origin !== undefined && !this.#allows(String(origin));
  }

  /**
   * The `Access-Control-Allow-Origin` of an answer: the origin of its request if that is listed, and `*` without a list;
   * `undefined` if no page may read the answer.
   */
  answerTo({ origin }: RequestHeaders): string | undefined {
    if (this.#allowed === undefined) return '*';
    return origin !== undefined && this.#allows(String(origin)) ? String(origin) : undefined;
  }

  #allows(origin: string): boolean {
    if (this.#allowed === undefined) return true;
    // No browser sends a star, so it is not the star of the list.
    if (origin.includes('*')) return false;
    return this.#allowed.has(origin) || this.#allowed.has(origin.replace(FIRST_LABEL, '$1*'));
  }
}
