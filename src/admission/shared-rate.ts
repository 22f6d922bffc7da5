import type { Reserved } from './rate-limit.ts';

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
  /** Runs a script in Redis; may reject, and may take any time. */
  readonly runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Called when it changes whether Redis counts the rate for all instances, or this one counts for itself. */
  readonly onShared: (shared: boolean) => void;
}

export interface SharedRateOptions {
  readonly key: string;
  /** How long Redis may take, in milliseconds. Then this instance decides by itself. */
  readonly budgetMs: number;
  /** After so many failures in a row Redis is not asked for `openMs`. */
  readonly failuresToOpen: number;
  readonly openMs: number;
}

/** The slots of a rate that several instances share through Redis. */
export class SharedRate {
  readonly #dependencies: SharedRateDependencies;
  readonly #options: SharedRateOptions;
  #failures = 0;
  #aloneUntil = Number.NEGATIVE_INFINITY;
  #isShared = true;

  constructor(dependencies: SharedRateDependencies, options: SharedRateOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** See {@link RateLimitDependencies.reserveShared}. */
  readonly reserve = async (stepMs: number, longestWaitMs: number): Promise<Reserved | undefined> => {
    const { runScript, now } = this.#dependencies;
    const { key, failuresToOpen, openMs } = this.#options;
    if (now() < this.#aloneUntil) return undefined;
    try {
      const args = [String(stepMs), String(longestWaitMs)];
      const reply = await this.#withinBudget(runScript(RESERVE, [key], args));
      const [reserved, micros] = (reply as unknown[]).map(Number);
      if (reserved === undefined || micros === undefined || Number.isNaN(reserved + micros)) throw new Error('rubbish');
      this.#failures = 0;
      this.#say(true);
      return { state: reserved === 1 ? 'reserved' : 'too-long', waitMs: micros / 1000 };
    } catch {
      this.#failures++;
      if (this.#failures >= failuresToOpen) this.#aloneUntil = now() + openMs;
      this.#say(false);
      return undefined;
    }
  };

  #say(isShared: boolean): void {
    if (isShared !== this.#isShared) this.#dependencies.onShared(isShared);
    this.#isShared = isShared;
  }

  async #withinBudget(reply: Promise<unknown>): Promise<unknown> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error('Redis did not answer in time')), this.#options.budgetMs);
    try {
      return await Promise.race([reply, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
