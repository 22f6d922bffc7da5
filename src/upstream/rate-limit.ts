import { RateWindow, type RateWindowOptions } from './rate-window.ts';
import { TurnPace } from './turn-pace.ts';

/** Turns for so long are taken at once, so that a Redis that takes as long does not slow the rate down. */
const AHEAD_MS = 50;

/** A turn that came late, because the process was busy, moves the ones behind it by that much less. */
const CATCH_UP_MS = 50;

interface Waiter {
  readonly resolve: (outcome: 'go' | 'abandoned') => void;
  readonly stopListening: () => void;
}

/**
 * At most so many requests a second, in even steps: first come, first served. With Redis the instances that share a
 * window share the rate; where Redis fails each has the rate for itself.
 */
export class RateLimit {
  readonly #now: () => number;
  readonly #stepMs: number;
  readonly #mostAhead: number;
  readonly #window: RateWindow;
  readonly #pace: TurnPace;
  readonly #waiters = new Set<Waiter>();
  #isServing = false;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(options: RateWindowOptions) {
    this.#now = options.now;
    this.#stepMs = 1000 / options.perSecond;
    this.#mostAhead = Math.ceil(AHEAD_MS / this.#stepMs);
    this.#window = new RateWindow(options);
    this.#pace = new TurnPace(this.#stepMs);
  }

  /** How long one who came now would wait, in milliseconds, if the other instances go on as they do. */
  get expectedWaitMs(): number {
    return Math.max(0, this.#nextAt - this.#now()) + this.#waiters.size * this.#pace.ms;
  }

  /** Waits for its turn, which whoever waits behind gets when `signal` is aborted first. Never rejects. */
  take(signal: AbortSignal): Promise<'go' | 'abandoned'> {
    const { promise, resolve } = Promise.withResolvers<'go' | 'abandoned'>();
    if (signal.aborted) {
      resolve('abandoned');
      return promise;
    }
    const onAbort = () => {
      this.#waiters.delete(waiter);
      resolve('abandoned');
    };
    const waiter: Waiter = { resolve, stopListening: () => signal.removeEventListener('abort', onAbort) };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiters.add(waiter);
    if (!this.#isServing) void this.#serve();
    return promise;
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    const since = this.#now();
    while (this.#waiters.size > 0) {
      const count = Math.min(this.#waiters.size, this.#mostAhead);
      const turns = await this.#window.take(count);
      this.#pace.learn(count, turns, since);
      for (const turnAt of turns.at) await this.#serveNext(turnAt);
      if (turns.at.length === 0) await this.#until(turns.windowEndsAt);
    }
    this.#isServing = false;
  }

  async #serveNext(turnAt: number): Promise<void> {
    // Nobody may be late for the turns of a window and then have them all at once.
    const at = Math.max(turnAt, this.#nextAt);
    await this.#until(at);
    const [next] = this.#waiters;
    if (next === undefined) return;
    this.#nextAt = Math.max(at, this.#now() - CATCH_UP_MS) + this.#stepMs;
    this.#waiters.delete(next);
    next.stopListening();
    next.resolve('go');
  }

  async #until(at: number): Promise<void> {
    const ms = at - this.#now();
    if (ms > 0) await new Promise<void>((resolve) => void setTimeout(resolve, Math.ceil(ms)));
  }
}
