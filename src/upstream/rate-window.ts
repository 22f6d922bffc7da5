import { ConsecutiveBreaker, circuitBreaker, handleAll, TimeoutStrategy, timeout, wrap } from 'cockatiel';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';

/** How long a window lasts, in milliseconds. */
export const WINDOW_MS = 1000;

/** A window in Redis, where all instances that know its key count in it. */
export interface SharedWindow {
  readonly key: string;
  /** Runs a script in Redis; may reject, and may take as long as it likes. */
  readonly runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** What Redis has not answered by then is counted here alone, in milliseconds. */
  readonly budgetMs: number;
  /** After so many faults in a row all is counted here alone for `restMs`. */
  readonly breaker: { readonly faults: number; readonly restMs: number };
  /** Told when it changes: whether Redis counts, or this instance alone. */
  readonly onShared: (shared: boolean) => void;
}

export interface RateWindowOptions {
  /** Requests a second, a whole number from 1 up. */
  readonly perSecond: number;
  /** Without it this instance counts alone. */
  readonly shared: SharedWindow | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Turns in the window that lasts now: as many as were left, each at its instant (of the clock of the options). */
export interface Turns {
  readonly at: readonly number[];
  /** From then on there are turns again. */
  readonly windowEndsAt: number;
}

/**
 * Windows of a second, each of `perSecond` turns that lie evenly in it. A window begins with its first turn, so that no
 * second, wherever it begins, has more than twice the rate.
 */
export class RateWindow {
  readonly #options: RateWindowOptions;
  readonly #key: string;
  readonly #limiter: RateLimiterMemory | RateLimiterRedis;

  constructor(options: RateWindowOptions) {
    const { perSecond, shared } = options;
    const limits = { points: perSecond, duration: WINDOW_MS / 1000, keyPrefix: '' };
    const local = new RateLimiterMemory(limits);
    this.#options = options;
    this.#key = shared?.key ?? 'local';
    this.#limiter =
      shared === undefined
        ? local
        : new RateLimiterRedis({
            ...limits,
            storeClient: scriptRunner(shared),
            // The interface of the redis package is the one that asks for a single method.
            useRedisPackage: true,
            insuranceLimiter: local,
          });
  }

  /** Takes up to `count` turns. Redis faults are not told: the turns are then of this instance's own window. */
  async take(count: number): Promise<Turns> {
    const { perSecond, now } = this.#options;
    const { consumedPoints, msBeforeNext } = await this.#consume(count);
    // The wall clock of the library may have been set back, and then a window seems to last for hours.
    const windowEndsAt = now() + Math.min(msBeforeNext, WINDOW_MS);
    const first = consumedPoints - count;
    const left = Math.min(count, Math.max(0, perSecond - first));
    const turnAt = (_: unknown, index: number) => windowEndsAt - WINDOW_MS + ((first + index) * WINDOW_MS) / perSecond;
    return { at: Array.from({ length: left }, turnAt), windowEndsAt };
  }

  async #consume(count: number): Promise<RateLimiterRes> {
    try {
      return await this.#limiter.consume(this.#key, count);
    } catch (spent) {
      if (spent instanceof RateLimiterRes) return spent;
      throw spent;
    }
  }
}

interface RedisPackageClient {
  eval(script: string, input: { readonly keys: string[]; readonly arguments: string[] }): Promise<unknown>;
}

function scriptRunner({ runScript, budgetMs, breaker, onShared }: SharedWindow): RedisPackageClient {
  const circuit = circuitBreaker(handleAll, {
    breaker: new ConsecutiveBreaker(breaker.faults),
    halfOpenAfter: breaker.restMs,
  });
  let shared = true;
  const tell = (now: boolean) => {
    if (now !== shared) onShared(now);
    shared = now;
  };
  circuit.onBreak(() => tell(false));
  circuit.onReset(() => tell(true));
  const guarded = wrap(circuit, timeout(budgetMs, TimeoutStrategy.Aggressive));
  return { eval: (script, input) => guarded.execute(() => runScript(script, input.keys, input.arguments)) };
}
