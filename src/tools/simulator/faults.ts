import type { SimulatedAnswer } from './answer.ts';
import type { IndexerOperation } from './question.ts';

/** One way to go wrong instead of, or while, sending the true answer. */
export type Fault =
  /** Another answer in place of the true one. */
  | ({ readonly kind: 'answer' } & SimulatedAnswer)
  /** No answer, ever; the connection stays open. */
  | { readonly kind: 'hang' }
  /** The true answer, that much later, ms. */
  | { readonly kind: 'late'; readonly ms: number }
  /** The connection is reset (RST) before the first byte of an answer. */
  | { readonly kind: 'reset' }
  /** The true answer, and the connection closed after half of its body. */
  | { readonly kind: 'cut'; readonly framing: 'content-length' | 'chunked' }
  /** The true answer, made that many bytes long by a `padding` member: still valid JSON with its list. */
  | { readonly kind: 'huge'; readonly bytes: number; readonly framing?: 'content-length' | 'chunked' }
  /** The true answer in pieces, with a pause before each. */
  | { readonly kind: 'slow'; readonly chunkBytes: number; readonly pauseMs: number };

/** Which requests a fault affects; by default all. */
export interface FaultScope {
  readonly operation?: IndexerOperation;
  /** Only so many of them. */
  readonly times?: number;
}

/** A fault that was injected. */
export interface InjectedFault {
  /** How many requests it has affected. */
  readonly hits: number;
  /** Ends the fault for later requests. */
  remove(): void;
}

/** The faults of a simulated indexer. They are read for each request, so they can be changed while it runs. */
export class Faults {
  /** Every request waits that long before its answer is made, ms. */
  latencyMs = 0;
  /** And at random up to that much longer, ms. */
  jitterMs = 0;
  /** So many workers serve the requests, first come, first served. A query continues after its client has left. */
  workers: { readonly count: number; readonly serviceMs: number } | undefined;
  /** Whether answers are compressed for clients that accept gzip, unlike the real ones. */
  gzips = false;
  readonly #injected = new Set<{ fault: Fault; scope: FaultScope; hits: number }>();

  /**
   * Injects a fault, which affects requests from the next one on. If several apply to a request, the first injected one
   * does.
   */
  inject(fault: Fault, scope: FaultScope = {}): InjectedFault {
    const injected = { fault, scope, hits: 0 };
    this.#injected.add(injected);
    return {
      get hits() {
        return injected.hits;
      },
      remove: () => void this.#injected.delete(injected),
    };
  }

  /** Ends all injected faults; latency, workers and compression stay. */
  clear(): void {
    this.#injected.clear();
  }

  /** The fault for a request that has just come, which is counted as affected. */
  take(operation: IndexerOperation): Fault | undefined {
    for (const injected of this.#injected) {
      const { operation: only, times = Number.POSITIVE_INFINITY } = injected.scope;
      if (only !== undefined && only !== operation) continue;
      injected.hits++;
      if (injected.hits >= times) this.#injected.delete(injected);
      return injected.fault;
    }
    return undefined;
  }
}

/** In the indexer's own form, or as plain text. */
function answered(status: number, form: 'json' | 'text', error: object, retryAfter: string | undefined): Fault {
  const retry = retryAfter === undefined ? {} : { 'Retry-After': retryAfter };
  return form === 'json'
    ? { kind: 'answer', status, body: JSON.stringify(error), headers: retry }
    : { kind: 'answer', status, body: 'failure', headers: { 'Content-Type': 'text/plain; charset=utf-8', ...retry } };
}

/** An answer with that status, in the indexer's own form or as plain text. */
export function failed(status: number, form: 'json' | 'text' = 'json', retryAfter?: string): Fault {
  return answered(status, form, { error: `simulated failure ${status}` }, retryAfter);
}

/** 429 as providers in front of the indexer send it. */
export function rateLimited(form: 'json' | 'text', retryAfter?: string): Fault {
  return answered(429, form, { ok: false, result: 'Ratelimit exceed', code: 429 }, retryAfter);
}

/** A provider that refuses the API key. */
export function refusedKey(status: 401 | 403): Fault {
  return { kind: 'answer', status, body: `{"ok":false,"error":"API key does not exist","code":${status}}` };
}

/** Status 200 with a body that is not JSON. */
export function garbage(form: 'html' | 'not-json' | 'empty'): Fault {
  const bodies = { html: '<!doctype html><title>welcome</title>', 'not-json': '{"traces":[', empty: '' };
  const headers = form === 'html' ? { 'Content-Type': 'text/html' } : {};
  return { kind: 'answer', status: 200, body: bodies[form], headers };
}

/** A redirect, 302. */
export function redirect(location: string): Fault {
  return { kind: 'answer', status: 302, body: '', headers: { Location: location } };
}

/** Status 200 with JSON that lacks the operation's list. */
export function withoutList(): Fault {
  return { kind: 'answer', status: 200, body: '{"ok":true}' };
}
