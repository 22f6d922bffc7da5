import type { CircuitBreaker, EndCall } from '../circuit-breaker.ts';
import type { RefusedReason } from '../failures/refusals.ts';
import type { Outcome } from '../outcomes.ts';
import type { Ms } from '../time-units.ts';
import type { Lane } from './lane.ts';

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
export interface EntryRequest {
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
  readonly lane: Lane;
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
 * Lets requests through or refuses them, by one circuit breaker: that of their operation, the pause, or that of an
 * operation that the indexer may not serve.
 */
export interface Guard {
  readonly reason: RefusalReason;
  readonly breaker: Pick<CircuitBreaker, 'isOpen' | 'isClosed' | 'retryAfterMs' | 'admit'>;
  /** Ends a call that the breaker let through for a key, with the meaning of the outcome for this breaker. */
  readonly end: (endCall: EndCall, outcome: Outcome, key: string, retryAfterMs?: Ms) => void;
  /** Used instead of the breaker by a guard that treats each key separately. */
  readonly byKey?: {
    /** Why a request for a key would be refused now. */
    refusal(key: string): Refusal | undefined;
    admit(key: string): EndCall | undefined;
  };
}

/** Takes the right to send a request for a cache key now; `undefined` if the guard refuses it. */
export function passBy({ breaker, byKey, end }: Guard, key: string): EndPass | undefined {
  const endCall = (byKey ?? breaker).admit(key);
  return endCall && ((outcome, retryAfterMs) => end(endCall, outcome, key, retryAfterMs));
}

/** Why a guard would refuse a request for a key now; without a key, for any key. */
export function refusalNow(guard: Guard, key: string | undefined): Refusal | undefined {
  if (key !== undefined && guard.byKey !== undefined) return guard.byKey.refusal(key);
  return guard.breaker.isOpen ? refusalOf(guard) : undefined;
}

/** The refusal of a request that a guard does not let through. */
export function refusalOf({ reason, breaker }: Guard): Refusal {
  return { reason, retryAfterMs: breaker.retryAfterMs };
}
