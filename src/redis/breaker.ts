import { CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** Why a call to Redis has no result. */
export type RedisFault = 'failed' | 'rejected-by-breaker';

export interface RedisBreakerDependencies {
  readonly monotonic: () => MonotonicMs;
  /** After `faults` in a row the circuit breaker is open for `openMs`, then one call is a trial. */
  readonly breaker: { readonly faults: number; readonly openMs: Ms };
  /** Whether an error is a fault of Redis; by default all are. */
  readonly isFault?: (error: unknown) => boolean;
  /** `reason`: the last fault, when Redis is no longer available. */
  readonly onAvailable: (available: boolean, reason: string | undefined) => void;
}

/** Makes calls to Redis, none while its circuit breaker is open. Never rejects. */
export type CallRedis = ReturnType<typeof redisBreaker>;

/** Builds {@link CallRedis}. */
export function redisBreaker(dependencies: RedisBreakerDependencies) {
  const {
    monotonic,
    breaker: { faults, openMs },
    isFault = () => true,
    onAvailable,
  } = dependencies;
  let lastFault: unknown;
  const breaker = new CircuitBreaker({
    now: monotonic,
    failures: new FailuresInARow(faults),
    openMs: () => openMs,
    onTransition: ({ state }) => {
      const isOpen = state === 'open';
      onAvailable(!isOpen, isOpen && lastFault instanceof Error ? lastFault.message : undefined);
    },
  });
  return async <T>(call: () => Promise<T>): Promise<T | RedisFault> => {
    const end = breaker.admit();
    if (end === undefined) return 'rejected-by-breaker';
    try {
      const result = await call();
      end('success');
      return result;
    } catch (error) {
      lastFault = error;
      end(isFault(error) ? 'failure' : 'unknown');
      return 'failed';
    }
  };
}
