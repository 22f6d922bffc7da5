import type { CircuitBreaker, EndCall } from '../circuit-breaker.ts';
import type { ShedReason } from '../failures/shed-reasons.ts';
import type { Outcome } from '../outcomes.ts';
import type { Ms } from '../time-units.ts';
import type { Lane } from './lane.ts';

/** Why a request is not sent to the indexer: nobody waits for it any more, or the indexer does not serve it, or overload. */
export type RefusalReason = 'abandoned' | 'not-served' | Exclude<ShedReason, 'client-limit' | 'deadline'>;

/** The refusal of a request. */
export interface Refusal {
  readonly reason: RefusalReason;
  /** Milliseconds after which it may be worth asking again; 0 when that is not known. */
  readonly retryAfterMs: Ms;
}

/** The refusal of a request that nobody waits for. */
export const ABANDONED: Refusal = { reason: 'abandoned', retryAfterMs: 0 };

/** What somebody waits for, until nobody does any more. */
export interface Abandonable {
  readonly isAbandoned: boolean;
  /** Aborted when it is abandoned. Made when it is first asked for: an `AbortController` costs a microsecond. */
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
  /** Those who wait for it, by what tells clients apart; nobody, for a refresh. */
  readonly clients: Iterable<string>;
  /** The flight or the wait that it is sent for. */
  readonly sentFor: Abandonable;
  readonly lane: Lane;
}

/** The part of a request that decides where it may be sent. Without a key: where a request for any other key may be. */
export type RouteRequest = Omit<EntryRequest, 'key' | 'sentFor'> & Partial<Pick<EntryRequest, 'key'>>;

/**
 * Tells a guard how a request ended that it let through; to be called exactly once. `retryAfterMs`: the time that was
 * asked for with `rate-limited`.
 */
export type EndPass = (outcome: Outcome, retryAfterMs?: Ms) => void;

/** A circuit breaker that forbids requests: that of an operation, the pause, or that of an operation that is not served. */
export interface Guard {
  readonly reason: RefusalReason;
  readonly breaker: Pick<CircuitBreaker, 'isOpen' | 'isClosed' | 'retryAfterMs' | 'admit'>;
  /** Ends a call that the breaker let through for a key, by what the outcome of its request is to this breaker. */
  readonly end: (endCall: EndCall, outcome: Outcome, key: string, retryAfterMs?: Ms) => void;
  /** Asked in place of the breaker by a guard that tells keys apart. */
  readonly byKey?: {
    /** Why a request for a key would be refused now. */
    refusal(key: string): Refusal | undefined;
    admit(key: string): EndCall | undefined;
  };
}

/** Takes the right to send a request for a cache key now; `undefined` when the guard refuses it. */
export function passBy({ breaker, byKey, end }: Guard, key: string): EndPass | undefined {
  const endCall = (byKey ?? breaker).admit(key);
  return endCall && ((outcome, retryAfterMs) => end(endCall, outcome, key, retryAfterMs));
}

/** Why a guard would refuse a request for a key now, or without one for any key. */
export function refusalNow(guard: Guard, key: string | undefined): Refusal | undefined {
  if (key !== undefined && guard.byKey !== undefined) return guard.byKey.refusal(key);
  return guard.breaker.isOpen ? refusalOf(guard) : undefined;
}

/** The refusal of a request that a guard does not let through. */
export function refusalOf({ reason, breaker }: Guard): Refusal {
  return { reason, retryAfterMs: breaker.retryAfterMs };
}
