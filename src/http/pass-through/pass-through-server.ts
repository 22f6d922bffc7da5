import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { ProxyError } from '../../errors.ts';
import type { Wait } from '../../proxy/open-waits.ts';
import { findOperation } from '../../ton/operations.ts';
import { commonHeaders, type ResponseContext } from '../public/response-message.ts';
import type { BodyReader } from './body-reader.ts';
import { forwardedHeaders, returnedHeaders } from './forwarded-headers.ts';
import type { PassThrough } from './pass-through.ts';
import { hasApiKey, isPassable } from './passable-target.ts';

/** Methods that are passed through. */
const PASSED_METHODS = ['GET', 'HEAD', 'POST'] as const;
/** Never aborted: for a check that does not wait. */
const NEVER = new AbortController().signal;
const ALLOW = [...PASSED_METHODS, 'OPTIONS'].join(', ');

export interface PassThroughServerDependencies {
  readonly passThrough: PassThrough;
  readonly bodies: BodyReader;
}

export interface PassThroughServerOptions {
  /**
   * The API key that the cached operations are sent with, if there is one; and whether it is added to requests without
   * a key.
   */
  readonly ourKey: string | undefined;
  readonly sharesOurKey: boolean;
}

/** What the server knows of a request that is to be passed through. */
export interface PassedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path and query in origin form, as they came. */
  readonly target: string;
  /**
   * Begins the wait for the head of the answer. To be called when the client's body has arrived, because the time for
   * that is the client's. `undefined` when too many requests wait already.
   */
  readonly openWait: () => Wait | undefined;
  readonly requestId: string;
}

/** Passes a request on and streams the answer back. Rejects with a {@link ProxyError} while nothing was sent yet. */
export class PassThroughServer {
  readonly #dependencies: PassThroughServerDependencies;
  readonly #options: PassThroughServerOptions;

  constructor(dependencies: PassThroughServerDependencies, options: PassThroughServerOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  async serve({ request, response, target, openWait, requestId }: PassedRequest): Promise<void> {
    const method = this.#check(request, target);
    const { passThrough, bodies } = this.#dependencies;
    const key = this.#keyFor(request, target);
    const { withClientKey } = key;
    passThrough.refuse({ target, withClientKey, signal: NEVER });
    const body = method === 'POST' ? await bodies.read(request) : undefined;
    const wait = openWait();
    if (wait === undefined) throw passThrough.shed({ reason: 'too-many-waiting', retryAfterMs: 0 });
    const { signal } = wait;
    const headers = [...forwardedHeaders(request.headers), ...key.headers];
    const answer = await passThrough.open({ target, withClientKey, signal }, { method, target, headers, body, signal });
    // The body has no deadline as a whole: only each pause in it is bounded.
    wait.close();
    try {
      const cacheStatus = { fwd: 'bypass', fwdStatus: answer.status } as const;
      const context: ResponseContext = { cacheStatus, vary: '', requestId };
      const cacheControl = answer.headers['cache-control'] === undefined ? ['Cache-Control', 'no-store'] : [];
      response.writeHead(answer.status, [
        ...returnedHeaders(answer.headers),
        ...cacheControl,
        ...commonHeaders(context),
      ]);
      await pipeline(answer.body, response);
    } catch {
      // One side disconnected in the middle. The other side learns of it by the end of its connection.
      response.destroy();
    } finally {
      answer.end();
    }
  }

  #check(request: IncomingMessage, target: string): (typeof PASSED_METHODS)[number] {
    if (!isPassable(target)) {
      throw new ProxyError(
        'bad-request',
        'the path is ambiguous; accepted: /api/v3/ and plain segments, without lone dots, backslashes or encoded slashes',
      );
    }
    if (findOperation(decodeURIComponent(target.split('?', 1)[0] ?? '')) !== undefined) {
      throw new ProxyError('bad-request', 'the path encodes plain letters; accepted: the operation by its plain name');
    }
    if (request.headers.upgrade !== undefined) {
      throw new ProxyError('bad-request', 'no protocol can be switched to; accepted: requests without Upgrade');
    }
    const method = PASSED_METHODS.find((passed) => passed === request.method);
    if (method === undefined) throw new ProxyError('method-not-allowed', `accepted: ${ALLOW}`, { allow: ALLOW });
    return method;
  }

  /** The key that a request goes with: the client's own, as header or parameter, before ours. */
  #keyFor(request: IncomingMessage, target: string): { withClientKey: boolean; headers: readonly string[] } {
    const { ourKey, sharesOurKey } = this.#options;
    if (request.headers['x-api-key'] !== undefined || hasApiKey(target)) return { withClientKey: true, headers: [] };
    if (ourKey === undefined) return { withClientKey: false, headers: [] };
    return sharesOurKey
      ? { withClientKey: false, headers: ['x-api-key', ourKey] }
      : { withClientKey: true, headers: [] };
  }
}
