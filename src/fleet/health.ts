import type { EndPass } from '../admission/guard.ts';
import { CircuitBreaker, FailuresInARow } from '../circuit-breaker.ts';
import { OUTCOMES } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** So many failures in a row, of whatever operation, and an indexer is unhealthy: it is not asked while another is healthy. */
const FAILURES = 3;

/**
 * A failing indexer gets one request as a trial after the first of these times. If the trial fails, another indexer answers
 * its request, and the time until the next trial doubles, up to the second of them.
 */
const [TRIAL_AFTER_MS, LATEST_TRIAL_MS]: [Ms, Ms] = [100, 1000];

/** In this time a peak decays to 1/e. */
const DECAY_MS: Ms = 10_000;

export interface HealthDependencies {
  readonly now: () => MonotonicMs;
  /** Called when it begins to fail, and when a trial was answered. */
  readonly onTransition: (state: 'unhealthy' | 'healthy') => void;
}

/**
 * The health of one of several indexers: whether its requests fail, and how much it has to do, by a moving average that
 * follows peaks at once (peak EWMA). Nothing is refused because of it, the others are preferred. It acts sooner than the
 * circuit breakers of operations, because an indexer that refuses connections is free at once and would attract every
 * request.
 */
export class Health {
  readonly #now: () => MonotonicMs;
  readonly #breaker: CircuitBreaker;
  /** When the requests under way began, oldest first. */
  readonly #underWay = new Map<symbol, MonotonicMs>();
  #peakMs: Ms = 0;
  #peakAt: MonotonicMs = 0;

  constructor({ now, onTransition }: HealthDependencies) {
    this.#now = now;
    this.#breaker = new CircuitBreaker({
      now,
      failures: new FailuresInARow(FAILURES),
      openMs: (failedTrials) => Math.min(TRIAL_AFTER_MS * 2 ** failedTrials, LATEST_TRIAL_MS),
      onTransition: ({ state }) => onTransition(state === 'open' ? 'unhealthy' : 'healthy'),
    });
  }

  /** Whether its requests are answered. Once they fail, it is healthy again when a trial was answered. */
  get isHealthy(): boolean {
    return this.#breaker.isClosed;
  }

  /** Whether its last requests failed and it is not time for a trial. */
  get isFailing(): boolean {
    return this.#breaker.isOpen;
  }

  /** How long its requests would take with one more, one after the other: so one that hangs is avoided within a few. */
  get loadMs(): Ms {
    return (this.#underWay.size + 1) * this.peakMs;
  }

  /** How long its requests take: the longest of the last seconds, and the age of the oldest one under way. */
  get peakMs(): Ms {
    const [oldest] = this.#underWay.values();
    const now = this.#now();
    return Math.max(this.#peakMs * this.#decay(now), oldest === undefined ? 0 : now - oldest);
  }

  /** To be called when a request is sent to it, with `isFailing` or without. */
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
