import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';
import type { MonotonicMs } from '../../time-units.ts';

/** The channel on which undici, ours and the one in Node's `fetch`, announces every request that it makes. */
const REQUEST_CHANNEL = 'undici:request:create';

/** Counts and paces all requests to the indexer from this process: no check relies on the proxy's reports. */
export class UpstreamTraffic {
  count = 0;
  /** The instants of the requests among them that can be for an answer, without toncache's own head polls. */
  readonly answersAt: MonotonicMs[] = [];
  readonly #origin: string;
  readonly #intervalMs: number;
  #freeAt = 0;

  /** At most `rate` requests a second to this origin. */
  constructor(origin: string, rate: number) {
    this.#origin = origin;
    this.#intervalMs = 1000 / rate;
    subscribe(REQUEST_CHANNEL, this.#onRequest);
  }

  /** Resolves when one more request may be made. Only a request that is really sent delays the next one. */
  async slot(): Promise<void> {
    for (;;) {
      const waitMs = this.#freeAt - performance.now();
      if (waitMs <= 0) return;
      await delay(waitMs);
    }
  }

  /** Sends nothing for this long, because the indexer asked for a pause. */
  pause(ms: number): void {
    this.#freeAt = Math.max(this.#freeAt, performance.now() + ms);
  }

  close(): void {
    unsubscribe(REQUEST_CHANNEL, this.#onRequest);
  }

  readonly #onRequest = (message: unknown): void => {
    // The cast: undici documents this form for this channel, whose messages have no types.
    const { origin, path } = (message as { readonly request: { readonly origin: string; readonly path: string } })
      .request;
    if (origin !== this.#origin) return;
    this.count++;
    const now = performance.now();
    if (!path.endsWith('/masterchainInfo')) this.answersAt.push(now);
    this.#freeAt = Math.max(this.#freeAt, now) + this.#intervalMs;
  };
}
