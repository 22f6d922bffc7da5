import { type IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHeaders } from '../../ton/parse-call.ts';

/**
 * The origins (RFC 6454) whose pages may read answers, if there is a list. Origins are compared byte for byte. A request
 * without an origin is not one of a page of another site.
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
    return this.#allowed !== undefined && origin !== undefined && !this.#allowed.has(String(origin));
  }

  /**
   * The headers of an answer, in the flat form, for a request with this origin: CORS headers only for a listed one, and
   * `Vary` for all.
   */
  headersFor(origin: string | undefined, headers: readonly string[]): readonly string[] {
    if (this.#allowed === undefined) return headers;
    const isAllowed = origin !== undefined && this.#allowed.has(origin);
    const sent: string[] = [];
    let varies = false;
    for (let at = 0; at < headers.length; at += 2) {
      const [name = '', value = ''] = [headers[at], headers[at + 1]];
      const lowered = name.toLowerCase();
      if (lowered === 'vary' && !varies) {
        varies = true;
        sent.push(name, value === '' ? 'Origin' : `${value}, Origin`);
      } else if (lowered === 'access-control-allow-origin' && isAllowed) sent.push(name, origin);
      else if (isAllowed || !lowered.startsWith('access-control-')) sent.push(name, value);
    }
    if (!varies) sent.push('Vary', 'Origin');
    return sent;
  }
}

/** The class of responses whose headers are those for the origin of their requests. */
export function responsesFor(origins: Origins) {
  return class<R extends IncomingMessage> extends ServerResponse<R> {
    /** Headers are in the flat form. */
    override writeHead(status: number, headers?: unknown): this {
      const given = headers as string[];
      return super.writeHead(
        status,
        origins.areListed ? [...origins.headersFor(this.req.headers.origin, given)] : given,
      );
    }
  };
}
