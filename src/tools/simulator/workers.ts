import { setTimeout as delay } from 'node:timers/promises';

/**
 * A database's workers: each takes the request that has waited longest and is busy with it for the service time. No
 * request leaves the queue before it is served, which is how overload harms the real one.
 */
export class Workers {
  readonly #signal: AbortSignal;
  readonly #queue: (() => void)[] = [];
  #busy = 0;

  /** @param signal Ends every wait by rejection. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => {
      for (const start of this.#queue.splice(0)) start();
    });
  }

  /** How many requests wait for a worker. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Waits for one of `count` workers, and then for its work of `serviceMs`. */
  async work({ count, serviceMs }: { count: number; serviceMs: number }): Promise<void> {
    if (this.#busy >= count) {
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    } else {
      this.#busy++;
    }
    try {
      await delay(serviceMs, undefined, { signal: this.#signal });
    } finally {
      // Hand the place to the next in the queue, so that no newcomer can take it.
      const next = this.#queue.shift();
      if (next === undefined) this.#busy--;
      else next();
    }
  }
}
