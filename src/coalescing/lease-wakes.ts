/** How a wait for another instance's load ends. */
export type Landing =
  /** The entry in Redis has changed. */
  | { readonly state: 'changed' }
  /** The indexer failed; `failure` is what the holder of the lease shared. */
  | { readonly state: 'failed'; readonly failure: string }
  /** The lease is free. */
  | { readonly state: 'free' };

/** A wait for a wake. */
export interface Wake {
  readonly landing: Promise<Landing>;
  /** To be called when the wait is over, however it ended. */
  forget(): void;
}

/** The waits of this process for loads of other instances. A message that nobody waits for is ignored. */
export class LeaseWakes {
  readonly #waiting = new Map<string, Set<(landing: Landing) => void>>();

  /** Begins a wait. Call this before asking Redis for the lease, so that no message is missed. */
  expect(redisKey: string): Wake {
    const { promise: landing, resolve } = Promise.withResolvers<Landing>();
    const waiting = this.#waiting.get(redisKey) ?? new Set();
    this.#waiting.set(redisKey, waiting.add(resolve));
    return {
      landing,
      forget: () => {
        waiting.delete(resolve);
        if (waiting.size === 0 && this.#waiting.get(redisKey) === waiting) this.#waiting.delete(redisKey);
      },
    };
  }

  /** Handles `KEY changed`, `KEY free` and `KEY failed FAILURE`; ignores anything else. */
  readonly onMessage = (message: Buffer): void => {
    const [, redisKey = '', word, failure] = /^(\S+) (changed|free|failed)(?: (.*))?$/s.exec(message.toString()) ?? [];
    const landing: Landing | undefined =
      word === 'failed'
        ? { state: 'failed', failure: failure ?? '' }
        : word === undefined
          ? undefined
          : { state: word as 'changed' | 'free' };
    if (landing !== undefined) for (const wake of this.#waiting.get(redisKey) ?? []) wake(landing);
  };
}
