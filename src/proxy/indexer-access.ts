import type { ProcessGuard } from '../admission/process-guard.ts';
import type { CallOutcome, OperationBreaker } from '../upstream/operation-breaker.ts';
import type { RateLimit } from '../upstream/rate-limit.ts';
import type { RetryBudget } from '../upstream/retry-budget.ts';
import type { UpstreamPause } from '../upstream/upstream-pause.ts';
import type { UpstreamOperation } from './events.ts';
import type { Refusal } from './overloaded.ts';

/** How a call ended, for everyone who has to know; `limited` is a 429 with its `Retry-After`. */
export type PassageEnd = CallOutcome | { readonly limited: string | undefined };

/** The right to send one call now. To be ended exactly once. */
export interface Passage {
  end(how: PassageEnd): void;
}

export interface IndexerAccessOptions {
  readonly guard: ProcessGuard;
  /** Bytes of answers being read now, and how many are too many. */
  readonly readingBytes: () => number;
  readonly maxReadingBytes: number;
  readonly pause: UpstreamPause;
  readonly breaker: OperationBreaker<UpstreamOperation>;
  /** Absent when the rate is not limited. */
  readonly rate: RateLimit | undefined;
  readonly retries: RetryBudget;
  /** No call is let in that would wait longer than this for the rate, in milliseconds. */
  readonly longestWaitMs: number;
}

const EXHAUSTED: Refusal = { reason: 'process-exhausted', waitMs: 0 };

/** Everything beside a permit that decides whether a call may be sent: the state of the indexer, and of this process. */
export class IndexerAccess {
  readonly #options: IndexerAccessOptions;

  constructor(options: IndexerAccessOptions) {
    this.#options = options;
  }

  /**
   * Why a call would not be sent: to be asked before it waits for anything. A busy process refuses who would have to wait
   * (not `isFree`), and keeps the indexer at work with the others: what it sheds comes again at once, and if that were
   * all, would keep it busy for good. A call that goes with a client's key and not with `ourKey` neither heeds nor begins
   * a pause: that is between the client and its provider.
   */
  refusal(operation: UpstreamOperation, isFree: boolean, ourKey = true): Refusal | undefined {
    const { guard, pause, breaker, rate, longestWaitMs } = this.#options;
    if (this.#isFull || (guard.isBusy && !isFree)) return EXHAUSTED;
    if (ourKey && pause.isPaused) return { reason: 'paused', waitMs: pause.remainingMs };
    if (breaker.isOpen(operation)) return { reason: 'breaker-open', waitMs: breaker.retryAfterMs(operation) };
    const waitMs = rate?.expectedWaitMs ?? 0;
    return waitMs > longestWaitMs ? { reason: 'rate-limit', waitMs } : undefined;
  }

  /** Waits for the rate and asks everyone once more, right before the call is sent. */
  async enter(
    operation: UpstreamOperation,
    key: string,
    signal: AbortSignal,
    ourKey = true,
  ): Promise<Passage | Refusal | 'abandoned'> {
    const { pause, breaker, rate } = this.#options;
    if (rate !== undefined && (await rate.take(signal)) === 'abandoned') return 'abandoned';
    if (this.#isFull) return EXHAUSTED;
    const pausePass = ourKey ? pause.admit() : undefined;
    if (pausePass === 'paused') return { reason: 'paused', waitMs: pause.remainingMs };
    const breakerPass = breaker.admit(operation, key);
    if (breakerPass === 'open') {
      pausePass?.unanswered();
      return { reason: 'breaker-open', waitMs: breaker.retryAfterMs(operation) };
    }
    return {
      end: (how) => {
        if (typeof how === 'object') {
          pausePass?.limited(how.limited);
          breakerPass.end('ignored');
          return;
        }
        if (how === 'ok' || how === 'ignored') pausePass?.answered();
        else pausePass?.unanswered();
        breakerPass.end(how);
      },
    };
  }

  get #isFull(): boolean {
    const { guard, readingBytes, maxReadingBytes } = this.#options;
    return guard.isFull || readingBytes() > maxReadingBytes;
  }

  /** Counts a call, once for both of its tries. */
  countCall(): void {
    this.#options.retries.countCall();
  }

  /** Whether a call that found no connection may be tried once more; a yes is spent. */
  mayRetry(): boolean {
    return this.#options.retries.tryTake();
  }

  /** Milliseconds until the pause ends that the indexer asked for. */
  get pauseMs(): number {
    return this.#options.pause.remainingMs;
  }
}
