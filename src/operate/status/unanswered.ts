import type { Growth } from '../samples.ts';

/** Fewer requests than this in the window are meaningless. */
export const FEWEST = 3;

/** Valid requests for operations. */
export function validIn(growth: Growth): number {
  return growth.of('requests_total') - growth.of('requests_total', { outcome: 'invalid' });
}

/** The requests without an answer, and, separately, those above the limits of their clients. */
export function unansweredIn(growth: Growth) {
  const code = 'too-many-requests';
  const requests = growth.of('requests_refused_total', { code });
  const misses = growth.of('request_failures_total', { code });
  const limited = requests + misses;
  /** All requests that were answered or should have been. */
  const asked = validIn(growth) - misses;
  return {
    limited,
    asked,
    failed: growth.of('requests_total', { outcome: 'failed' }) - misses,
    /** Then all clients may count as one. */
    isMostlyLimited: limited >= FEWEST && limited > asked,
  };
}
