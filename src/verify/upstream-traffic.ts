import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';

/** Where undici, ours and the one in Node's `fetch`, tells of every request that it makes. */
const REQUEST_CHANNEL = 'undici:request:create';

export interface UpstreamTrafficOptions {
  /** The indexer's origin. */
  readonly origin: string;
  /** Requests per second. */
  readonly rate: number;
}

/**
 * Every request to the indexer that leaves this process: those of the proxy, its background refreshes included, and our
 * own. Counted where they are made, so that neither the rate nor a check depends on what the proxy says of itself.
 */
export class UpstreamTraffic {
  readonly #origin: string;
  readonly #intervalMs: number;
  #count = 0;
  #freeAt = 0;

  constructor({ origin, rate }: UpstreamTrafficOptions) {
    this.#origin = origin;
    this.#intervalMs = 1000 / rate;
    subscribe(REQUEST_CHANNEL, this.#onRequest);
  }

  /** Requests to the indexer so far. */
  get count(): number {
    return this.#count;
  }

  /** Resolves when one more request may be made. What turns out to need none costs the next one no time. */
  async slot(): Promise<void> {
    for (;;) {
      const waitMs = this.#freeAt - performance.now();
      if (waitMs <= 0) return;
      await delay(waitMs);
    }
  }

  /** Nothing goes out for that long: the indexer asked for a pause. */
  pause(ms: number): void {
    this.#freeAt = Math.max(this.#freeAt, performance.now() + ms);
  }

  /** Ends the counting. */
  close(): void {
    unsubscribe(REQUEST_CHANNEL, this.#onRequest);
  }

  readonly #onRequest = (message: unknown): void => {
    if (originOf(message) !== this.#origin) return;
    this.#count++;
    this.#freeAt = Math.max(this.#freeAt, performance.now()) + this.#intervalMs;
  };
}

function originOf(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null || !('request' in message)) return undefined;
  const { request } = message;
  return typeof request === 'object' && request !== null && 'origin' in request ? String(request.origin) : undefined;
}
