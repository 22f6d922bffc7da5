import type { EndPass } from '../admission/guard.ts';
import { CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import { OUTCOMES } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/**
 * After this many failures in a row, of any operation, an indexer is unhealthy: it gets no requests while another is
 * healthy.
 */
const FAILURES = 3;

/**
 * An unhealthy indexer gets one request as a trial after the first of these times. If the trial fails, another indexer
 * answers the request, and the time until the next trial doubles, up to the second value.
 */
const [TRIAL_AFTER_MS, LATEST_TRIAL_MS]: [Ms, Ms] = [100, 1000];

/** A peak decays to 1/e in this time. */
const DECAY_MS: Ms = 10_000;

/**
 * The health and the load of one of several indexers. The load is a moving average that follows peaks immediately (peak
 * EWMA). Nothing is refused because of it; other indexers are preferred. It acts sooner than the circuit breakers of
 * operations: an indexer that refuses connections is idle at once, and would otherwise attract every request.
 */
export class Health {
  readonly #now: () => MonotonicMs;
  readonly #breaker: CircuitBreaker;
  /** Start times of the requests in flight, oldest first. */
  readonly #underWay = new Map<symbol, MonotonicMs>();
  #peakMs: Ms = 0;
  #peakAt: MonotonicMs = 0;

  /** `onTransition` is called when it becomes unhealthy, and when a trial was answered. */
  constructor(now: () => MonotonicMs, onTransition: (state: 'unhealthy' | 'healthy') => void) {
    this.#now = now;
    this.#breaker = new CircuitBreaker({
      now,
      failures: new FailuresInARow(FAILURES),
      openMs: (failedTrials) => Math.min(TRIAL_AFTER_MS * 2 ** failedTrials, LATEST_TRIAL_MS),
      onTransition: ({ state }) => onTransition(state === 'open' ? 'unhealthy' : 'healthy'),
    });
  }

  /** An unhealthy indexer is healthy again when a trial was answered. */
  get isHealthy(): boolean {
    return this.#breaker.isClosed;
  }

  /** True if it is unhealthy and no trial is due. */
  get isFailing(): boolean {
    return this.#breaker.isOpen;
  }

  /**
   * The time that its requests and one more would take, one after the other: an indexer that hangs is avoided after a
   * few.
   */
  get loadMs(): Ms {
    return (this.#underWay.size + 1) * this.peakMs;
  }

  /** The longest request time of the last seconds, or the age of the oldest request in flight if that is longer. */
  get peakMs(): Ms {
    const [oldest] = this.#underWay.values();
    const now = this.#now();
    return Math.max(this.#peakMs * this.#decay(now), oldest === undefined ? 0 : now - oldest);
  }

  /** Call when a request is sent to it, also while `isFailing`. */
  begin(): EndPass {
    const end = this.#breaker.admit();
    const request = Symbol();
    const beganAt = this.#now();
    this.#underWay.set(request, beganAt);
    return (outcome) => {
      this.#underWay.delete(request);
      const { health } = OUTCOMES[outcome];
      if (health !== 'unknown') this.#learn(this.#now(), beganAt);
      end?.(health);
    };
  }

  #learn(now: MonotonicMs, beganAt: MonotonicMs): void {
    const [tookMs, decay] = [now - beganAt, this.#decay(now)];
    this.#peakMs = Math.max(tookMs, this.#peakMs * decay + tookMs * (1 - decay));
    this.#peakAt = now;
  }

  #decay(now: MonotonicMs): number {
    return Math.exp((this.#peakAt - now) / DECAY_MS);
  }
}
