import type { Outcome, RefusalReason } from './outcome.ts';

/** The right to send one request, which tells the guard how the request ended. */
export interface Pass {
  /** To be called exactly once. `retryAfter`: the header that came with `rate-limited`. */
  end(outcome: Outcome, retryAfter?: string): void;
}

/** Forbids requests for a while after others failed: a circuit breaker, or the pause. */
export interface Guard {
  readonly reason: RefusalReason;
  /** Whether every request would be refused now. */
  readonly isOpen: boolean;
  /** Milliseconds until a request may be sent; 0 when that is not known. */
  readonly retryAfterMs: number;
  /** Takes the right to send a request for a cache key now, or `undefined` when it is refused. */
  admit(key: string): Pass | undefined;
}

/** A pass that ends once, whatever its holder does. */
export function passOf(end: (outcome: Outcome, retryAfter: string | undefined) => void): Pass {
  let ended = false;
  return {
    end: (outcome, retryAfter) => {
      if (ended) return;
      ended = true;
      end(outcome, retryAfter);
    },
  };
}
