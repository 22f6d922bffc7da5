import type { Growth } from '../samples.ts';

/** Fewer requests than this in the window say nothing. */
export const FEWEST = 3;

/** Requests for operations that were valid. */
export function validIn(growth: Growth): number {
  return growth.of('requests_total') - growth.of('requests_total', { outcome: 'invalid' });
}

/** The requests that got no answer, and those beyond the limits of their clients, which are none of them. */
export function unansweredIn(growth: Growth) {
  const code = 'too-many-requests';
  const requests = growth.of('requests_refused_total', { code });
  const misses = growth.of('request_failures_total', { code });
  const limited = requests + misses;
  /** All that were answered or should have been. */
  const asked = validIn(growth) - misses;
  return {
    limited,
    asked,
    failed: growth.of('requests_total', { outcome: 'failed' }) - misses,
    /** Then all clients may count as one. */
    isMostlyLimited: limited >= FEWEST && limited > asked,
  };
}
