import type { EpochMs, Ms } from '../time-units.ts';

/**
 * The time in a `Retry-After` (RFC 9110 10.2.3: seconds, or a date after `now`): more than 0, without a bound.
 * `undefined` without a valid time.
 */
export function retryAfterMs(header: string | undefined, now: EpochMs): Ms | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return ms > 0 ? ms : undefined;
}
