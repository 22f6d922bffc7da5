import { setTimeout as delay } from 'node:timers/promises';
import type { SimulatedAnswer } from './answer.ts';
import type { IndexerOperation } from './operations.ts';

/** One fault instead of, or during, the true answer. */
export type Fault =
  /** Another answer in place of the true one. */
  | ({ readonly kind: 'answer' } & SimulatedAnswer)
  /** No answer at all; the connection stays open. */
  | { readonly kind: 'hang' }
  /** The connection is reset (RST) before the first byte of an answer. */
  | { readonly kind: 'reset' }
  /**
   * The true answer on a new connection; a connection that has answered before is closed, as if it had been idle for
   * too long.
   */
  | { readonly kind: 'close-used' }
  /** The true answer, and the connection closed after half of its body. */
  | { readonly kind: 'cut'; readonly framing: 'content-length' | 'chunked' }
  /** The true answer, made this many bytes long by a `padding` member: still valid JSON with its list. */
  | { readonly kind: 'huge'; readonly bytes: number; readonly framing?: 'content-length' | 'chunked' }
  /** `masterchainInfo` names another newest block, another oldest one, or another chain. */
  | {
      readonly kind: 'head';
      readonly seqno?: number;
      readonly first?: number;
      readonly globalId?: number;
    }
  /** The true answer in pieces, with a pause before each. */
  | { readonly kind: 'slow'; readonly chunkBytes: number; readonly pauseMs: number };

/** The requests that a fault affects: of one operation or all, and all of them or the first ones. */
export interface FaultScope {
  readonly operation?: IndexerOperation;
  /** Only requests whose query contains this. */
  readonly query?: string;
  readonly times?: number;
}

/** A fault that was injected. */
export interface InjectedFault {
  readonly fault: Fault;
  readonly scope: FaultScope;
  /** The number of affected requests. */
  hits: number;
  readonly remove: () => void;
}

/** The faults of a simulated indexer. They are read for each request, so they can be changed while it runs. */
export class Faults {
  /** Every request waits this long before its answer is made, ms, plus a random part of the jitter. */
  latencyMs = 0;
  jitterMs = 0;
  /** A database's workers, first come, first served: a waiting request is served even if its client has left. */
  workers: { readonly count: number; readonly serviceMs: number } | undefined;
  /** How several replicas share the load: by requests in rotation, or one replica for each connection. */
  balances: 'requests' | 'connections' = 'requests';
  readonly #injected = new Set<InjectedFault>();
  readonly #queue: (() => void)[] = [];
  #busy = 0;

  /** Injects a fault for requests from the next one on. If several apply to a request, the first injected one does. */
  inject(fault: Fault, scope: FaultScope = {}): InjectedFault {
    const injected: InjectedFault = { fault, scope, hits: 0, remove: () => void this.#injected.delete(injected) };
    this.#injected.add(injected);
    return injected;
  }

  /** Ends all injected faults; latency and workers stay. */
  clear(): void {
    this.#injected.clear();
  }

  /** The fault for a request that has just arrived, which is counted as affected. */
  take(operation: IndexerOperation, target: string): Fault | undefined {
    const injected = [...this.#injected].find(
      ({ scope }) => (scope.operation ?? operation) === operation && target.includes(scope.query ?? ''),
    );
    if (injected === undefined) return undefined;
    injected.hits++;
    if (injected.hits === injected.scope.times) injected.remove();
    return injected.fault;
  }

  /** Waits as long as a request does before its answer is made: for its latency, a worker, and the worker's work. */
  async wait(signal: AbortSignal): Promise<void> {
    const latencyMs = this.latencyMs + Math.random() * this.jitterMs;
    if (latencyMs > 0) await delay(latencyMs, undefined, { signal });
    if (this.workers === undefined) return;
    const { count, serviceMs } = this.workers;
    if (this.#busy < count) this.#busy++;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      await delay(serviceMs, undefined, { signal });
    } finally {
      // Hand the place to the next in the queue, so that no new request can take it.
      const next = this.#queue.shift();
      if (next === undefined) this.#busy--;
      else next();
    }
  }
}

/** The faults of the simulated Streaming API. All may change while it runs. */
export class StreamFaults {
  /** Handshakes are ended by TCP: the server restarts. */
  refusesConnections = false;
  /** The key that a handshake must have as `X-API-Key`, otherwise 401. */
  apiKey: string | undefined;
}

/** An answer with this status, in the indexer's own form or as plain text. */
export function failed(status: number, form: 'json' | 'text' = 'json', retryAfter?: string, error?: object): Fault {
  const headers = {
    ...(form === 'json' ? {} : { 'Content-Type': 'text/plain; charset=utf-8' }),
    ...(retryAfter === undefined ? {} : { 'Retry-After': retryAfter }),
  };
  const json = JSON.stringify(error ?? { error: `simulated failure ${status}` });
  return { kind: 'answer', status, body: form === 'json' ? json : 'failure', headers };
}

/** 429 as sent by providers in front of the indexer. */
export function rateLimited(form: 'json' | 'text', retryAfter?: string): Fault {
  return failed(429, form, retryAfter, { ok: false, result: 'Ratelimit exceed', code: 429 });
}

/** A provider that refuses the API key. */
export function refusedKey(status: 401 | 402 | 403): Fault {
  return failed(status, 'json', undefined, { ok: false, error: 'API key does not exist', code: status });
}

/** The 404 of another server that does not know the path: a framework, a gateway, or a web server. */
export function foreign404(by: 'fastify' | 'gateway' | 'nginx'): Fault {
  const bodies = {
    fastify: '{"message":"Route GET:/api/v3/x not found","error":"Not Found","statusCode":404}',
    gateway: '{"message":"no Route matched with those values"}',
    nginx: '<html><head><title>404 Not Found</title></head></html>',
  };
  return { kind: 'answer', status: 404, body: bodies[by] };
}

/**
 * The indexer's answer for an operation that it lacks: from its API without its Redis, without the path, or from a
 * gateway.
 */
export function notServed(operation: IndexerOperation, why: 'no-redis' | 'no-path' | 'not-implemented'): Fault {
  if (why === 'not-implemented') return failed(501, 'text');
  const errors = {
    'no-redis': 'emulatedTracesRepository is not initialized',
    'no-path': `internal server error: Cannot GET /api/v3/${operation}`,
  };
  return failed(500, 'json', undefined, { error: errors[why] });
}

/** A redirect to a login page. */
export function redirected(): Fault {
  return { kind: 'answer', status: 302, body: '', headers: { Location: 'http://127.0.0.1:1/login' } };
}

/** A replica without history: it lacks every requested block, in the indexer's own words. */
export function withoutBlocks(status: 404 | 422 = 404): Fault {
  return failed(status, 'json', undefined, { error: 'blocks not found' });
}

/** Status 200 with a body that is not JSON. */
export function garbage(form: 'html' | 'not-json' | 'empty'): Fault {
  const bodies = { html: '<!doctype html><title>welcome</title>', 'not-json': '{"traces":[', empty: '' };
  const headers = form === 'html' ? { 'Content-Type': 'text/html' } : {};
  return { kind: 'answer', status: 200, body: bodies[form], headers };
}

/** Status 200 with JSON that lacks the operation's list. */
export function withoutList(): Fault {
  return { kind: 'answer', status: 200, body: '{"ok":true}' };
}
