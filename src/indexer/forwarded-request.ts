import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, errors } from 'undici';
import { timedOut, unanswered } from './read-answer.ts';
import { type BrokenOutcome, SentRequest, type SentRequestDependencies } from './sent-request.ts';

type Controller = Dispatcher.DispatchController;

/** A passed-through request: its answer goes to undici's own handler, which makes a stream of the body. */
class ForwardedRequest extends SentRequest {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #signal: AbortSignal;
  #hasFailed = false;

  constructor(dependencies: SentRequestDependencies, handler: Dispatcher.DispatchHandler, signal: AbortSignal) {
    super(dependencies);
    this.#handler = handler;
    this.#signal = signal;
    // Undici aborts a request that is sent. This one may wait to be sent once more.
    signal.addEventListener('abort', () => this.controller === undefined && this.#fail(signal.reason), { once: true });
  }

  protected get isGivenUp(): boolean {
    return this.#signal.aborted;
  }

  protected onSent(controller: Controller, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  protected onHead(controller: Controller, headers: IncomingHttpHeaders): void {
    this.#handler.onResponseStart?.(controller, this.status, headers);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    this.#handler.onResponseEnd?.(controller, trailers);
  }

  protected onFailed(outcome: BrokenOutcome, cause: Error): void {
    if (outcome === 'invalid' || this.isGivenUp) this.#fail(cause);
    else if (cause instanceof errors.HeadersTimeoutError) this.#fail(timedOut(cause));
    else this.#fail(unanswered(cause, outcome === 'unreachable'));
  }

  #fail(error: Error): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    // The cast: its type has no place for a request that was never sent.
    this.#handler.onResponseError?.(this.controller as Controller, error);
  }
}

/**
 * Sends a request by a pool, and resolves when the head of its answer is there. Rejects with a `ProxyError`, with the
 * reason of the signal, or with the error of an undici that is closed.
 */
export function forwarded(
  pool: Dispatcher,
  options: Parameters<Dispatcher['request']>[0] & { readonly signal: AbortSignal },
  repeats: SentRequestDependencies['repeats'],
): Promise<Dispatcher.ResponseData<unknown>> {
  const sending = pool.compose(() => (request, handler) => {
    new ForwardedRequest({ pool, request, repeats }, handler, options.signal).sendBy(pool);
    return true;
  });
  return sending.request(options);
}
