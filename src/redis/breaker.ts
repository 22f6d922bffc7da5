import { type CallResult, CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import { reasonOf } from '../reason-of.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** Why a call to Redis has no result. */
export type RedisFault = 'failed' | 'rejected-by-breaker';

export interface RedisBreakerDependencies {
  readonly monotonic: () => MonotonicMs;
  /** After `faults` in a row the circuit breaker is open for `openMs`, then one call is a trial. */
  readonly breaker: { readonly faults: number; readonly openMs: Ms };
  /** True if an error is a fault of Redis; by default all are. */
  readonly isFault?: (error: unknown) => boolean;
  /** Faults within this time after another one do not count: concurrent calls fail together. Default 0. */
  readonly togetherMs?: Ms;
  /** `reason`: the last fault, when Redis is no longer available. */
  readonly onAvailable: (available: boolean, reason: string | undefined) => void;
  /** Called with the reason of each fault. */
  readonly onFault?: (reason: string) => void;
  /** A call that is made every `openMs` while the breaker is open, so that the breaker closes without a request. */
  readonly trial?: () => Promise<unknown>;
}

/** One lost packet or one slow command is not an outage; each further failure would cost a request its whole budget. */
export const FAULTS_TO_OPEN = 3;

/** Then one trial a second: a failover takes 3 to 6 s, so at most a fifth of it is added. */
export const OPEN_MS: Ms = 1000;

/** Makes calls to Redis, none while its circuit breaker is open. */
export type RedisBreaker = ReturnType<typeof redisBreaker>;

/** Builds a {@link RedisBreaker}. */
export function redisBreaker(dependencies: RedisBreakerDependencies) {
  const {
    monotonic,
    breaker: { faults, openMs },
    isFault = () => true,
    togetherMs = 0,
    onAvailable,
    onFault,
    trial,
  } = dependencies;
  let lastFault: unknown;
  let faultAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  let trials: NodeJS.Timeout | undefined;
  const breaker = new CircuitBreaker({
    now: monotonic,
    failures: new FailuresInARow(faults),
    openMs: () => openMs,
    onTransition: ({ state }) => {
      const isOpen = state === 'open';
      clearInterval(trials);
      if (isOpen && trial !== undefined) trials = setInterval(() => void call(trial), openMs).unref();
      onAvailable(!isOpen, isOpen ? reasonOf(lastFault) : undefined);
    },
  });
  const countFault = (): CallResult => {
    if (monotonic() - faultAt < togetherMs) return 'unknown';
    faultAt = monotonic();
    return 'failure';
  };
  const call = async <T>(command: () => Promise<T>): Promise<T | RedisFault> => {
    const end = breaker.admit();
    if (end === undefined) return 'rejected-by-breaker';
    try {
      const result = await command();
      end('success');
      return result;
    } catch (error) {
      lastFault = error;
      end(isFault(error) ? countFault() : 'unknown');
      const reason = isFault(error) ? reasonOf(error) : undefined;
      if (reason !== undefined) onFault?.(reason);
      return 'failed';
    }
  };
  return {
    /** Never rejects. */
    call,
    /** Ends all trials. */
    close: (): void => clearInterval(trials),
  };
}
