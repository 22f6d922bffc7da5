import { CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { ABANDONED, type Abandonable, type Refusal } from './guard.ts';

/** A turn reserved for one request, `waitMs` away; or `too-long` when the next free one is further away than allowed. */
export type Reserved = { readonly state: 'reserved' | 'too-long'; readonly waitMs: Ms };

export interface RateLimitDependencies {
  /**
   * Reserves the next free turn among all instances that share the rate, if it is at most `longestWaitMs` away. When
   * that is not possible (`undefined`), this instance keeps to the whole rate by itself. Never rejects.
   */
  readonly reserveShared?: ((stepMs: Ms, longestWaitMs: Ms) => Promise<Reserved | undefined>) | undefined;
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

export interface SharedRateDependencies {
  /** Runs a script in Redis, or rejects when Redis takes too long. */
  readonly runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  readonly now: () => MonotonicMs;
  /** Called when it changes whether Redis counts the rate for all instances, or this one counts for itself. */
  readonly onShared: (shared: boolean) => void;
  readonly key: string;
  /** After so many failures in a row Redis is not asked for `openMs`. */
  readonly failuresToOpen: number;
  readonly openMs: Ms;
}

/** The slots of a rate that several instances share through Redis. */
export class SharedRate {
  readonly #dependencies: SharedRateDependencies;
  readonly #breaker: CircuitBreaker;

  constructor(dependencies: SharedRateDependencies) {
    const { now, onShared } = dependencies;
    this.#dependencies = dependencies;
    this.#breaker = new CircuitBreaker({
      now,
      failures: new FailuresInARow(dependencies.failuresToOpen),
      openMs: () => dependencies.openMs,
      onTransition: ({ state }) => onShared(state === 'closed'),
    });
  }

  /** See {@link RateLimitDependencies.reserveShared}. */
  readonly reserve = async (stepMs: Ms, longestWaitMs: Ms): Promise<Reserved | undefined> => {
    const end = this.#breaker.admit();
    if (end === undefined) return undefined;
    try {
      const args = [String(stepMs), String(longestWaitMs)];
      const reply = await this.#dependencies.runScript(RESERVE, [this.#dependencies.key], args);
      const [reserved, micros] = (reply as unknown[]).map(Number);
      if (reserved === undefined || micros === undefined || Number.isNaN(reserved + micros)) throw new Error('rubbish');
      end('success');
      return { state: reserved === 1 ? 'reserved' : 'too-long', waitMs: micros / 1000 };
    } catch {
      end('failure');
      return undefined;
    }
  };
}
