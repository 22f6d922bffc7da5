/** What a wait for another instance's load comes to. */
export type Landing =
  /** The entry is another than the one that was seen. */
  | { readonly state: 'changed' }
  /** The indexer failed; in the words of whoever held the lease. */
  | { readonly state: 'failed'; readonly failure: string }
  /** Nobody holds the lease any longer. */
  | { readonly state: 'free' };

/** One who waits to be woken. */
export interface Wake {
  readonly landing: Promise<Landing>;
  /** To be called when the wait is over, however it ended. */
  forget(): void;
}

/** Those in this process who wait for loads of other instances. A message that nobody waits for is nothing. */
export class LeaseWakes {
  readonly #waiting = new Map<string, Set<(landing: Landing) => void>>();

  /** Begins a wait: whoever expects before asking Redis misses no message. */
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

  /** Takes `KEY changed`, `KEY free` or `KEY failed FAILURE`; anything else is ignored. */
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
