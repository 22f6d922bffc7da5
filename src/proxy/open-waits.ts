import type { Waiter } from '../coalescing/single-flight.ts';
import { ProxyError } from '../errors.ts';

/** The most waits that end in one turn of the event loop, so that hits are answered in between. */
const ENDED_AT_ONCE = 256;

export interface OpenWaitsOptions {
  /** How long a request may wait for its answer, in milliseconds. */
  readonly timeoutMs: number;
  /** The most waits that are open at once. */
  readonly maxOpen: number;
}

/**
 * The wait of one request that memory could not answer. It ends by its deadline (`upstream-timeout`), by its client leaving
 * (`client-left`), with the process (`shutting-down`), or by its answer ({@link close}).
 */
export class Wait implements Waiter {
  readonly #open: Set<Wait>;
  /** Monotonic milliseconds. */
  readonly endsAt: number;
  /** Why it ended without an answer; `undefined` before. */
  reason: ProxyError | undefined;
  onEnd: (() => void) | undefined;
  #abort: AbortController | undefined;

  constructor(open: Set<Wait>, endsAt: number) {
    this.#open = open;
    this.endsAt = endsAt;
    open.add(this);
  }

  /** For code that needs a signal. Made on first use: it costs more than the wait itself. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.reason !== undefined) this.#abort.abort(this.reason);
    return this.#abort.signal;
  }

  /** Ends it without an answer. Does nothing when it has ended already. */
  end(reason: ProxyError): void {
    if (!this.#open.delete(this)) return;
    this.reason = reason;
    this.onEnd?.();
    this.#abort?.abort(reason);
  }

  /** Its answer is there: it can no longer end otherwise. */
  close(): void {
    this.#open.delete(this);
  }
}

/**
 * The waits that are open now. All have the same timeout, so they end in the order in which they began, and one timer for
 * the oldest serves all. A wait costs about 150 bytes.
 */
export class OpenWaits {
  readonly #options: OpenWaitsOptions;
  /** In the order of their ends. */
  readonly #open = new Set<Wait>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OpenWaitsOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Begins a wait; `undefined` when too many are open. */
  open(): Wait | undefined {
    const { timeoutMs, maxOpen } = this.#options;
    if (this.#open.size >= maxOpen) return undefined;
    if (this.#timer === undefined) this.#endLater(timeoutMs);
    return new Wait(this.#open, performance.now() + timeoutMs);
  }

  /** Ends every wait: what has not been answered by now will not be. */
  endAll(): void {
    const reason = new ProxyError('shutting-down', 'the proxy is shutting down', { retryAfterSeconds: 1 });
    for (const wait of this.#open) wait.end(reason);
  }

  #endLater(ms: number): void {
    this.#timer = setTimeout(() => this.#endOverdue(), ms).unref();
  }

  #endOverdue(): void {
    // Timers may fire a part of a millisecond early.
    const overdueAt = performance.now() + 1;
    const reason = new ProxyError('upstream-timeout', 'the indexer did not answer in time');
    let ended = 0;
    for (const wait of this.#open) {
      if (wait.endsAt > overdueAt || ended === ENDED_AT_ONCE) {
        this.#endLater(Math.max(1, wait.endsAt - overdueAt));
        return;
      }
      wait.end(reason);
      ended++;
    }
    this.#timer = undefined;
  }
}
