import type { Ms } from '../time-units.ts';
import type { Reserved, ReserveShared } from './rate-limit.ts';

/**
 * GCRA among all instances, by the clock of Redis. KEYS: the instant of the next free turn. ARGV: the step, the longest
 * wait, how long ago a turn may have been free, and how far away the next free one can be, in milliseconds. Where it is
 * further away, the key holds garbage, or Redis' clock was set back: the rate begins anew. Returns whether a turn was
 * reserved, and how far away it is, in microseconds (Redis truncates numbers to integers).
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

export interface SharedTurnsDependencies {
  /** Runs a script in Redis, or rejects when Redis takes too long. */
  readonly runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** Makes a call to Redis; resolves with a word if that fails. */
  readonly call: <T>(call: () => Promise<T>) => Promise<T | string>;
  readonly key: string;
  /**
   * How far away a next free turn can be that instances have reserved: by the settings that they share, never by the wait of
   * one call, because a call that does not wait would begin the rate anew while others wait for their turns.
   */
  readonly furthestMs: Ms;
}

/** The turns of a rate that instances share through Redis. */
export function sharedTurns({ runScript, call, key, furthestMs }: SharedTurnsDependencies): ReserveShared {
  return async (stepMs, longestWaitMs, overdueMs) => {
    const reserved = await call(async (): Promise<Reserved> => {
      const reply = await runScript(RESERVE, [key], [stepMs, longestWaitMs, overdueMs, furthestMs].map(String));
      const [isReserved, micros] = (reply as unknown[]).map(Number);
      if (isReserved === undefined || micros === undefined || Number.isNaN(isReserved + micros)) {
        throw new Error('Redis answered with no turn');
      }
      return { state: isReserved === 1 ? 'reserved' : 'too-long', waitMs: micros / 1000 };
    });
    return typeof reserved === 'string' ? undefined : reserved;
  };
}
