import type { ReserveShared } from '../../../src/admission/rate-limit.ts';

/** Simulates the script in Redis that makes shared reservations, with `latencyMs` before and after it. */
export function simulatedReservations(latencyMs: number): ReserveShared {
  let nextAt = Number.NEGATIVE_INFINITY;
  const pass = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  return async (stepMs, longestWaitMs, overdueMs) => {
    await pass(latencyMs);
    const now = performance.now();
    nextAt = Math.max(nextAt, now - overdueMs);
    const waitMs = nextAt - now;
    const state = waitMs > longestWaitMs ? 'too-long' : 'reserved';
    if (state === 'reserved') nextAt += stepMs;
    await pass(latencyMs);
    return { state, waitMs };
  };
}
