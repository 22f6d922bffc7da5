import type { CircuitBreaker, EndCall } from '../circuit-breaker.ts';
import type { RefusedReason } from '../failures/refusals.ts';
import type { Outcome } from '../outcomes.ts';
import type { Ms } from '../time-units.ts';
import type { SendRules } from './send-rules.ts';

/**
 * Why a request is not sent to the indexer: nobody waits for it any more, the indexer does not serve the operation, or
 * overload.
 */
export type RefusalReason = 'abandoned' | 'not-served' | Exclude<RefusedReason, 'client-limit' | 'deadline'>;

export interface Refusal {
  readonly reason: RefusalReason;
  /** Milliseconds after which a retry may succeed; 0 when that is not known. */
  readonly retryAfterMs: Ms;
}

/** The refusal of a request that nobody waits for. */
export const ABANDONED: Refusal = { reason: 'abandoned', retryAfterMs: 0 };

/** A flight or wait that ends when its last client has left. */
export interface Abandonable {
  readonly isAbandoned: boolean;
  /** Aborted when the last client has left. Created on first use: an `AbortController` costs a microsecond. */
  readonly signal: AbortSignal;
}

/** A request that wants to be sent to the indexer. */
export interface EntryRequest extends SendRules {
  readonly operation: string;
  /**
   * The cache key, or method and path of a passed-through request. Circuit breakers count each key once, and a 429 pauses
   * it.
   */
  readonly key: string;
  /** The clients that wait for it, as identified by `clients/`; empty for a refresh. */
  readonly clients: Iterable<string>;
  /** The flight or wait for which it is sent. */
  readonly sentFor: Abandonable;
}

/**
 * The part of a request that decides where it may be sent. Without a key, refusals that concern only one key do not
 * count.
 */
export type RouteRequest = Omit<EntryRequest, 'key' | 'sentFor'> & Partial<Pick<EntryRequest, 'key'>>;

/**
 * Reports to a guard how a request ended. Call exactly once for each request that it let through. `retryAfterMs`: the
 * `Retry-After` of a `rate-limited` request.
 */
export type EndPass = (outcome: Outcome, retryAfterMs?: Ms) => void;

/**
 * Lets requests through or refuses them: the circuit breaker of their operation, the pause, or the guard of an operation
 * that the indexer may not serve.
 */
export interface Guard {
  readonly reason: RefusalReason;
  /** Its state, for those who show it. */
  readonly breaker: Pick<CircuitBreaker, 'isOpen' | 'isClosed' | 'retryAfterMs'>;
  /**
   * Why a request for a key would be refused now; without a key, for any key. A half-open breaker refuses while its trial
   * is under way.
   */
  refusal(key: string | undefined): Refusal | undefined;
  /**
   * Takes the right to send a request for a key now, which is the trial if the breaker is half-open. `undefined` if the
   * guard refuses it: a half-open breaker may prefer another key.
   */
  admit(key: string): EndPass | undefined;
}

/** The guard of a breaker. `end` ends a call that was let through, with the meaning of its outcome for this breaker. */
export function guardBy(
  reason: RefusalReason,
  breaker: CircuitBreaker,
  end: (endCall: EndCall, outcome: Outcome, key: string) => void,
): Guard {
  return {
    reason,
    breaker,
    refusal: () => (breaker.isOpen ? { reason, retryAfterMs: breaker.retryAfterMs } : undefined),
    admit: (key) => {
      const endCall = breaker.admit(key);
      return endCall && ((outcome) => end(endCall, outcome, key));
    },
  };
}
