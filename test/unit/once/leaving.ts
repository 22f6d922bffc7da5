import type { FlightWaiter } from '../../../src/once/single-flight.ts';

/** A waiter that leaves when a signal is aborted. */
export function leavingBy(signal: AbortSignal): FlightWaiter {
  const waiter: { reason: unknown; onEnd: (() => void) | undefined } = { reason: signal.reason, onEnd: undefined };
  signal.addEventListener('abort', () => {
    waiter.reason = signal.reason;
    waiter.onEnd?.();
  });
  return waiter;
}
