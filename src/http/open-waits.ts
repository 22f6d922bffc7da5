import type { ServerResponse } from 'node:http';
import { ProxyError } from '../errors.ts';

/** The wait of one request that memory could not answer. */
export interface Wait {
  readonly signal: AbortSignal;
  close(): void;
}

/**
 * The waits that are open now. Each ends by its deadline (`upstream-timeout`), by its client leaving (`client-left`),
 * or with the process (`shutting-down`).
 */
export class OpenWaits {
  readonly #timeoutMs: number;
  readonly #open = new Set<AbortController>();

  /** `timeoutMs`: how long a request may wait for its answer. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  open(response: ServerResponse): Wait {
    const controller = new AbortController();
    const end = (error: ProxyError) => controller.abort(error);
    const onClose = () => end(new ProxyError('client-left', 'the client left'));
    const timer = setTimeout(
      () => end(new ProxyError('upstream-timeout', 'the indexer did not answer in time')),
      this.#timeoutMs,
    );
    response.once('close', onClose);
    this.#open.add(controller);
    return {
      signal: controller.signal,
      close: () => {
        clearTimeout(timer);
        response.off('close', onClose);
        this.#open.delete(controller);
      },
    };
  }

  /** Ends every wait: what has not been answered by now will not be. */
  endAll(): void {
    for (const controller of this.#open) {
      controller.abort(new ProxyError('shutting-down', 'the proxy is shutting down', { retryAfterSeconds: 1 }));
    }
  }
}
