/** The right to have one request under way at the indexer. To be released exactly once; more often does nothing. */
export interface Permit {
  release(): void;
}

/** Why no permit was given: the queue has no room, or the one who asked stopped waiting. */
export type Rejection = 'queue-full' | 'abandoned';

export interface AdmissionGateOptions {
  /** The most permits out at once. */
  readonly maxConcurrency: number;
  /** The most that may wait for one. */
  readonly maxQueue: number;
}

interface Waiter {
  readonly resolve: (outcome: Permit | Rejection) => void;
  readonly stopListening: () => void;
}

/**
 * Bounds what the indexer has in hand. First come, first served; a freed permit is handed to the longest waiter and
 * never released to be competed for again, or a newcomer could take it while a waiter goes back to the end of the
 * queue.
 */
export class AdmissionGate {
  readonly #options: AdmissionGateOptions;
  readonly #waiters = new Set<Waiter>();
  #inUse = 0;

  constructor(options: AdmissionGateOptions) {
    this.#options = options;
  }

  /** Permits out now. */
  get inUse(): number {
    return this.#inUse;
  }

  /** Requests waiting for a permit now. */
  get queued(): number {
    return this.#waiters.size;
  }

  /** Waits for a permit until `signal` is aborted. Never rejects: not getting one is an expected outcome. */
  async acquire(signal: AbortSignal): Promise<Permit | Rejection> {
    if (signal.aborted) return 'abandoned';
    if (this.#inUse < this.#options.maxConcurrency) {
      this.#inUse++;
      return this.#permit();
    }
    return this.#waiters.size < this.#options.maxQueue ? this.#wait(signal) : 'queue-full';
  }

  #wait(signal: AbortSignal): Promise<Permit | Rejection> {
    const { promise, resolve } = Promise.withResolvers<Permit | Rejection>();
    const onAbort = () => {
      this.#waiters.delete(waiter);
      resolve('abandoned');
    };
    const waiter: Waiter = { resolve, stopListening: () => signal.removeEventListener('abort', onAbort) };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiters.add(waiter);
    return promise;
  }

  #permit(): Permit {
    let released = false;
    return {
      release: () => {
        if (released) return;
        released = true;
        this.#passOn();
      },
    };
  }

  #passOn(): void {
    const [next] = this.#waiters;
    if (next === undefined) {
      this.#inUse--;
      return;
    }
    this.#waiters.delete(next);
    next.stopListening();
    next.resolve(this.#permit());
  }
}
