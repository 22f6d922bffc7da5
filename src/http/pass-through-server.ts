import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { ProxyError } from '../errors.ts';
import type { PassThrough } from '../proxy/pass-through.ts';
import type { Wait } from './open-waits.ts';
import { forwardedHeaders, returnedHeaders } from './pass-through-headers.ts';
import { isPassable } from './pass-through-target.ts';
import { commonHeaders, type ResponseContext } from './send-response.ts';

/** Methods that are passed through. */
const PASSED_METHODS = ['GET', 'HEAD', 'POST'] as const;
const ALLOW = [...PASSED_METHODS, 'OPTIONS'].join(', ');

export interface ServePassThroughOptions {
  readonly passThrough: PassThrough;
  readonly maxBodyBytes: number;
  /** Our key for clients that bring none, where that is allowed. */
  readonly sharedKey: string | undefined;
}

/** What the server knows of a request that is to be passed through. */
export interface PassedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path and query in origin form, as they came. */
  readonly target: string;
  /** The wait for the head of the answer; closed when the head is there, for the body has its own time. */
  readonly wait: Wait;
  readonly requestId: string;
  readonly closing: boolean;
}

/** Passes a request on and streams the answer back. Rejects with a {@link ProxyError} while nothing was sent yet. */
export class PassThroughServer {
  readonly #options: ServePassThroughOptions;

  constructor(options: ServePassThroughOptions) {
    this.#options = options;
  }

  async serve({ request, response, target, wait, requestId, closing }: PassedRequest): Promise<void> {
    if (!isPassable(target)) {
      throw new ProxyError(
        'bad-request',
        'the path is ambiguous; accepted: /api/v3/ and segments without dots alone, backslashes or encoded slashes',
      );
    }
    if (request.headers.upgrade !== undefined) {
      throw new ProxyError('bad-request', 'no protocol can be switched to; accepted: requests without Upgrade');
    }
    const method = PASSED_METHODS.find((passed) => passed === request.method);
    if (method === undefined) throw new ProxyError('method-not-allowed', `accepted: ${ALLOW}`, { allow: ALLOW });
    const body = method === 'POST' ? await this.#read(request, wait.signal) : undefined;
    const { passThrough, sharedKey } = this.#options;
    const headers = forwardedHeaders(request.headers);
    if (sharedKey !== undefined && request.headers['x-api-key'] === undefined) headers.push('x-api-key', sharedKey);
    const answer = await passThrough.open({ method, target, headers, body, signal: wait.signal });
    wait.close();
    try {
      const context: ResponseContext = {
        cacheStatus: { fwd: 'bypass', fwdStatus: answer.status },
        vary: '',
        requestId,
        closing,
      };
      response.writeHead(answer.status, [...returnedHeaders(answer.headers), ...commonHeaders(context)]);
      await pipeline(answer.body, response);
    } catch {
      // Either side left in the middle: the other one is told by the connection's end, and there is nobody to write to.
      response.destroy();
    } finally {
      answer.end();
    }
  }

  async #read(request: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
    const { maxBodyBytes } = this.#options;
    const tooLarge = new ProxyError('body-too-large', `the body is too large; accepted: at most ${maxBodyBytes} bytes`);
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge;
    const chunks: Buffer[] = [];
    let bytes = 0;
    // Leaving the loop must not end the connection: the refusal is still to be sent on it.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      bytes += chunk.length;
      if (bytes > maxBodyBytes) throw tooLarge;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes);
  }
}
