import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';

/** The channel on which undici, ours and the one in Node's `fetch`, announces every request that it makes. */
const REQUEST_CHANNEL = 'undici:request:create';

export interface UpstreamTrafficOptions {
  /** The indexer's origin. */
  readonly origin: string;
  /** Requests per second. */
  readonly rate: number;
}

/**
 * Counts and paces all requests to the indexer that leave this process: those of the proxy, including background
 * refreshes, and our own. They are counted in undici, so that neither the rate nor a check depends on what the proxy
 * reports.
 */
export class UpstreamTraffic {
  readonly #origin: string;
  readonly #intervalMs: number;
  #count = 0;
  #headsCount = 0;
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

  /** Those among them that can be for an answer: toncache asks for the head of the chain by itself. */
  get answersCount(): number {
    return this.#count - this.#headsCount;
  }

  /** Resolves when one more request may be made. Only a request that is really sent delays the next one. */
  async slot(): Promise<void> {
    for (;;) {
      const waitMs = this.#freeAt - performance.now();
      if (waitMs <= 0) return;
      await delay(waitMs);
    }
  }

  /** Sends nothing for so long, because the indexer asked for a pause. */
  pause(ms: number): void {
    this.#freeAt = Math.max(this.#freeAt, performance.now() + ms);
  }

  /** Stops counting. */
  close(): void {
    unsubscribe(REQUEST_CHANNEL, this.#onRequest);
  }

  readonly #onRequest = (message: unknown): void => {
    const request = requestIn(message);
    if (request?.origin !== this.#origin) return;
    this.#count++;
    if (request.path.endsWith('/masterchainInfo')) this.#headsCount++;
    this.#freeAt = Math.max(this.#freeAt, performance.now()) + this.#intervalMs;
  };
}

function requestIn(message: unknown): { readonly origin: string; readonly path: string } | undefined {
  if (typeof message !== 'object' || message === null || !('request' in message)) return undefined;
  const { request } = message;
  if (typeof request !== 'object' || request === null || !('origin' in request && 'path' in request)) return undefined;
  return { origin: String(request.origin), path: String(request.path) };
}
