import type { ReserveShared } from '../../../src/admission/rate-limit.ts';

/** The turns that instances share, as the script in Redis gives them, and only when its answers come. */
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
