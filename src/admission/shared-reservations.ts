import type { Ms } from '../time-units.ts';
import type { Reserved, ReserveShared } from './rate-limit.ts';

/**
 * GCRA among all instances, by the clock of Redis. KEYS: the next free instant. ARGV, in milliseconds: the step, the
 * longest wait, the longest overdue time, and the largest possible distance of the next free instant. If that instant
 * is further away, the key holds garbage, or Redis' clock was set back: the rate starts anew. Returns whether a
 * reservation was made, and its distance in microseconds (Redis truncates numbers to integers).
 */
const RESERVE = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + time[2] / 1000
local stepMs, longestMs, overdueMs, furthestMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local known = redis.pcall('GET', KEYS[1])
local nextMs = type(known) == 'string' and tonumber(known) or nowMs
if not (nextMs <= nowMs + furthestMs) then nextMs = nowMs end
nextMs = math.max(nextMs, nowMs - overdueMs)
local waitMs = nextMs - nowMs
if waitMs > longestMs then return {0, waitMs * 1000} end
redis.call('SET', KEYS[1], string.format('%.3f', nextMs + stepMs), 'PX', math.ceil(waitMs + stepMs + overdueMs))
return {1, waitMs * 1000}`;

export interface SharedReservationsDependencies {
  /** Runs a script in Redis, or rejects when Redis takes too long. */
  readonly runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** Makes a call to Redis; resolves with a word if the call fails. */
  readonly call: <T>(call: () => Promise<T>) => Promise<T | string>;
  readonly key: string;
  /**
   * The largest distance of a next free instant that instances can have reserved. It follows from shared settings and
   * never from one call: a call that does not wait would otherwise restart the rate while others wait for their
   * reservations.
   */
  readonly furthestMs: Ms;
}

/** The reservations of a rate that instances share through Redis. */
export function sharedReservations({
  runScript,
  call,
  key,
  furthestMs,
}: SharedReservationsDependencies): ReserveShared {
  return async (stepMs, longestWaitMs, overdueMs) => {
    const reserved = await call(async (): Promise<Reserved> => {
      const reply = await runScript(RESERVE, [key], [stepMs, longestWaitMs, overdueMs, furthestMs].map(String));
      const [isReserved, micros] = (reply as unknown[]).map(Number);
      if (isReserved === undefined || micros === undefined || Number.isNaN(isReserved + micros)) {
        throw new Error('Redis answered with no reservation');
      }
      return { state: isReserved === 1 ? 'reserved' : 'too-long', waitMs: micros / 1000 };
    });
    return typeof reserved === 'string' ? undefined : reserved;
  };
}
