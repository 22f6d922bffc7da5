import type { EventHub } from '../../event-hub.ts';
import { outcomeOfStatus } from '../../outcomes.ts';
import { reasonOf } from '../../reason-of.ts';
import type { MonotonicMs } from '../../time-units.ts';
import { RedisOutage } from '../redis-outage.ts';
import { sayingOf } from '../saying.ts';
import { LimitedClients } from './limited-clients.ts';

/** The last failure of an indexer. */
export interface LastFailure {
  /** A status, or the code of a failure: its label in `toncache_upstream_requests_total`. */
  readonly result: string;
  /** The system's own words, if there are any: `connect ECONNREFUSED 10.0.0.7:8081`. */
  readonly reason: string | undefined;
}

/**
 * The last failures of each indexer and of Redis, and the clients that were limited in the last seconds. While a
 * circuit breaker is open, requests are refused instead of sent, so the counters of the window do not show why the
 * indexer failed.
 */
export class LastFailures {
  readonly #ofIndexers = new Map<string, LastFailure>();
  readonly #limited: LimitedClients;
  readonly #redis: RedisOutage;

  constructor(events: EventHub, monotonic: () => MonotonicMs) {
    this.#redis = new RedisOutage(events, monotonic);
    this.#limited = new LimitedClients(monotonic);
    events.on('client-limited', ({ client }) => this.#limited.count(client));
    events.on('upstream-failed', ({ indexer, operation, code, cause }) => {
      if (operation !== 'passthrough') this.#ofIndexers.set(indexer, { result: code, reason: reasonOf(cause) });
    });
    // The meaning of a head poll's answer is not reported.
    events.on('upstream-answered', ({ indexer, isForHead, status, says }) => {
      if (isForHead !== true || outcomeOfStatus(status) !== 'refused-key') return;
      this.#ofIndexers.set(indexer, { result: String(status), reason: sayingOf(status, says) });
    });
    events.on('upstream-useless', ({ indexer, code, status, says }) => {
      const result = code === 'upstream-error' ? String(status) : code;
      this.#ofIndexers.set(indexer, { result, reason: sayingOf(status, says) });
    });
  }

  of(indexer: string): LastFailure | undefined {
    return this.#ofIndexers.get(indexer);
  }

  /** The clients that exceeded their limits in the last seconds, as they are shown, the worst first. */
  get limited(): readonly string[] {
    return this.#limited.names();
  }

  /** The best known reason for the outage of Redis. */
  get ofRedis(): string | undefined {
    return this.#redis.reason;
  }
}
