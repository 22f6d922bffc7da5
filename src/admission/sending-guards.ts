import type { EndPass, EntryRequest, Guard } from './guard.ts';
import type { Refusal } from './outcome.ts';
import type { RateLimit } from './rate-limit.ts';

export interface SendingGuardsDependencies {
  /** Whether this process has hardly any memory left. */
  readonly isMemoryFull: () => boolean;
  /** The pause and circuit breaker that apply to a request, in the order in which they are asked. */
  readonly guardsOf: (request: EntryRequest) => readonly Guard[];
  /** Absent when the rate is not limited. */
  readonly rate: RateLimit | undefined;
}

export interface SendingGuardsOptions {
  /** A request that would wait longer than this for the rate limit is refused, in milliseconds. */
  readonly patienceMs: number;
}

/** The passes to be ended with the request, or why it is not sent. */
export type Passed = readonly EndPass[] | 'abandoned' | Refusal;

/**
 * What may keep a request from being sent, beside the slots: memory, pause, circuit breaker and rate limit. They are
 * asked twice: on arrival, without taking anything, and right before the request is sent.
 */
export class SendingGuards {
  readonly #dependencies: SendingGuardsDependencies;
  readonly #patienceMs: number;

  constructor(dependencies: SendingGuardsDependencies, { patienceMs }: SendingGuardsOptions) {
    this.#dependencies = dependencies;
    this.#patienceMs = patienceMs;
  }

  /** Why memory, pause or circuit breaker would refuse a request now; takes nothing. */
  refusal(request: EntryRequest): Refusal | undefined {
    if (this.#dependencies.isMemoryFull()) return { reason: 'memory', retryAfterMs: 0 };
    const guard = this.#dependencies.guardsOf(request).find(({ isOpen }) => isOpen);
    return guard && { reason: guard.reason, retryAfterMs: guard.retryAfterMs };
  }

  /** The refusal of a request that would wait too long for the rate limit behind `waiting` others; takes nothing. */
  rateRefusal(request: EntryRequest, waiting: number): Refusal | undefined {
    const waitMs = this.#rateFor(request)?.expectedWaitMs(waiting) ?? 0;
    return waitMs > this.#patienceOf(request) ? { reason: 'rate-limit', retryAfterMs: waitMs } : undefined;
  }

  /**
   * The passes of the guards, once the rate limit lets the request go; at once where the rate is not limited. Nothing is
   * taken when it is refused.
   */
  pass(request: EntryRequest): Passed | Promise<Passed> {
    if (request.signal.aborted) return 'abandoned';
    const rate = this.#rateFor(request);
    return rate === undefined ? this.#takePasses(request) : this.#passInTurn(request, rate);
  }

  async #passInTurn(request: EntryRequest, rate: RateLimit): Promise<Passed> {
    const closed = this.refusal(request);
    if (closed !== undefined) return closed;
    const taken = await rate.take(request.signal, this.#patienceOf(request));
    if (taken === 'abandoned') return taken;
    if (taken !== 'go') return { reason: 'rate-limit', retryAfterMs: taken.waitMs };
    return this.#takePasses(request);
  }

  /** A refresh gets only what misses leave of the rate. */
  #patienceOf({ isRefresh }: EntryRequest): number {
    return isRefresh === true ? 0 : this.#patienceMs;
  }

  #rateFor({ withClientKey }: EntryRequest): RateLimit | undefined {
    return withClientKey === true ? undefined : this.#dependencies.rate;
  }

  #takePasses(request: EntryRequest): readonly EndPass[] | Refusal {
    if (this.#dependencies.isMemoryFull()) return { reason: 'memory', retryAfterMs: 0 };
    const passes: EndPass[] = [];
    for (const guard of this.#dependencies.guardsOf(request)) {
      const pass = guard.admit(request.key);
      if (pass === undefined) {
        for (const end of passes) end('unsent');
        return { reason: guard.reason, retryAfterMs: guard.retryAfterMs };
      }
      passes.push(pass);
    }
    return passes;
  }
}
