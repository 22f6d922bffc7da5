import type { MonotonicMs, Ms } from '../time-units.ts';
import { ABANDONED, type Abandonable, type Refusal } from './guard.ts';

/** A turn reserved for one request, `waitMs` away; or `too-long` when the next free one is further away than allowed. */
export type Reserved = { readonly state: 'reserved' | 'too-long'; readonly waitMs: Ms };

/**
 * Reserves the next free turn among all instances that share the rate, if it is at most `longestWaitMs` away. When that is
 * not possible (`undefined`), this instance keeps to the whole rate by itself. Never rejects.
 */
export type ReserveShared = (stepMs: Ms, longestWaitMs: Ms) => Promise<Reserved | undefined>;

export interface RateLimitDependencies {
  /** Absent where instances do not share the rate. */
  readonly reserveShared?: ReserveShared | undefined;
  readonly now: () => MonotonicMs;
  /** Requests a second, a whole number from 1 up. */
  readonly perSecond: number;
}

/**
 * Limits requests to a rate, in even steps, first come, first served (GCRA, the generic cell rate algorithm, without
 * bursts):
 *
 *   turn = max(now, next free); next free = turn + 1000 / perSecond
 *
 * The turn of a request that leaves, or is refused after the wait for it, is lost.
 */
export class RateLimit {
  readonly #dependencies: RateLimitDependencies;
  readonly #stepMs: Ms;
  #nextFreeAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: RateLimitDependencies) {
    this.#dependencies = dependencies;
    this.#stepMs = 1000 / dependencies.perSecond;
  }

  /** How long a request would wait with `ahead` others before it that have no turn yet, as far as is known. */
  expectedWaitMs(ahead: number): Ms {
    return Math.max(0, this.#nextFreeAt - this.#dependencies.now()) + ahead * this.#stepMs;
  }

  /** Waits for a turn, if it is at most `longestWaitMs` away, as long as somebody waits for that. Never rejects. */
  async take(longestWaitMs: Ms, sentFor?: Abandonable): Promise<'go' | Refusal> {
    if (sentFor?.isAbandoned) return ABANDONED;
    const { state, waitMs } = await this.#reserve(longestWaitMs);
    if (state === 'too-long') return { reason: 'rate-limit', retryAfterMs: waitMs };
    if (waitMs > 0) await passed(Math.ceil(waitMs), sentFor?.signal);
    return sentFor?.isAbandoned ? ABANDONED : 'go';
  }

  async #reserve(longestWaitMs: Ms): Promise<Reserved> {
    const shared = await this.#dependencies.reserveShared?.(this.#stepMs, longestWaitMs);
    const now = this.#dependencies.now();
    const waitMs = shared?.waitMs ?? Math.max(0, this.#nextFreeAt - now);
    const state = shared?.state ?? (waitMs > longestWaitMs ? 'too-long' : 'reserved');
    this.#nextFreeAt = now + waitMs + (state === 'reserved' ? this.#stepMs : 0);
    return { state, waitMs };
  }
}

/** Resolves after this time, or when the signal is aborted. */
function passed(ms: Ms, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}

/** A next free slot that is further away is garbage, or Redis' clock was set back: the rate begins anew. */
const LONGEST_MS = 60_000;

/**
 * GCRA among all instances, by the clock of Redis. KEYS: the instant of the next free slot. ARGV: the step and the
 * longest wait, in milliseconds. Returns whether a slot was reserved, and how far away it is, in microseconds (Redis
 * truncates numbers to integers).
 */
const RESERVE = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + time[2] / 1000
local stepMs, longestMs = tonumber(ARGV[1]), tonumber(ARGV[2])
local known = redis.pcall('GET', KEYS[1])
local nextMs = type(known) == 'string' and tonumber(known) or nowMs
if nextMs < nowMs or nextMs > nowMs + ${LONGEST_MS} then nextMs = nowMs end
local waitMs = nextMs - nowMs
if waitMs > longestMs then return {0, waitMs * 1000} end
redis.call('SET', KEYS[1], string.format('%.3f', nextMs + stepMs), 'PX', math.ceil(waitMs + stepMs))
return {1, waitMs * 1000}`;

export interface SharedTurnsDependencies {
  /** Runs a script in Redis, or rejects when Redis takes too long. */
  readonly runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** Makes a call to Redis; resolves with a word if that fails. */
  readonly call: <T>(call: () => Promise<T>) => Promise<T | string>;
  readonly key: string;
}

/** The turns of a rate that instances share through Redis. */
export function sharedTurns({ runScript, call, key }: SharedTurnsDependencies): ReserveShared {
  return async (stepMs, longestWaitMs) => {
    const reserved = await call(async (): Promise<Reserved> => {
      const reply = await runScript(RESERVE, [key], [String(stepMs), String(longestWaitMs)]);
      const [isReserved, micros] = (reply as unknown[]).map(Number);
      if (isReserved === undefined || micros === undefined || Number.isNaN(isReserved + micros)) {
        throw new Error('Redis answered with no turn');
      }
      return { state: isReserved === 1 ? 'reserved' : 'too-long', waitMs: micros / 1000 };
    });
    return typeof reserved === 'string' ? undefined : reserved;
  };
}
