import type { Waiter } from '../../../src/coalescing/single-flight.ts';

/** One who waits until a signal is aborted. */
export function leavingBy(signal: AbortSignal): Waiter {
  const waiter: { reason: unknown; onEnd: (() => void) | undefined } = { reason: signal.reason, onEnd: undefined };
  signal.addEventListener('abort', () => {
    waiter.reason = signal.reason;
    waiter.onEnd?.();
  });
  return waiter;
}
