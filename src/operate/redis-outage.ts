import type { EventHub } from '../event-hub.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { betterReason, tellsWhy } from './best-reason.ts';

/** A reason up to this long before an outage belongs to it: the error comes before the end of the connection. */
const BEFORE_MS: Ms = 10_000;

/** A reason that has changed is reported at most once in this time. */
const REPORT_EVERY_MS: Ms = 60_000;

/**
 * Why Redis cannot be used. An outage lasts until there is a connection and reads, writes and purges work. So an outage
 * continues when the connection is opened again without effect, as to a read-only replica. The best of its reasons is
 * kept, and reported (`redis-reason`) when it changes.
 */
export class RedisOutage {
  readonly #events: EventHub;
  readonly #monotonic: () => MonotonicMs;
  readonly #unavailable = new Set<string>();
  #reason: string | undefined;
  #seenAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #reported: string | undefined;
  #reportedAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(events: EventHub, monotonic: () => MonotonicMs) {
    this.#events = events;
    this.#monotonic = monotonic;
    events.on('redis-error', ({ reason }) => this.#learn(reason));
    events.on('redis-transition', (event) => {
      // Its line in the log has the reason.
      if (event.state === 'disconnected') this.#reported ??= event.reason;
      this.#turn('connection', event.state === 'connected', event.state === 'disconnected' ? event.reason : undefined);
    });
    events.on('redis-available', ({ operation, available, reason }) => this.#turn(operation, available, reason));
    events.on('purges-available', ({ available, reason }) => this.#turn('purges', available, reason));
  }

  /** The best reason of the outage; `undefined` without one. */
  get reason(): string | undefined {
    return this.#unavailable.size === 0 ? undefined : this.#reason;
  }

  #turn(part: string, available: boolean, reason: string | undefined): void {
    if (available) this.#unavailable.delete(part);
    else this.#unavailable.add(part);
    if (this.#unavailable.size === 0) this.#reason = this.#reported = undefined;
    else if (reason !== undefined) this.#learn(reason);
  }

  #learn(reason: string): void {
    const now = this.#monotonic();
    const isOld = this.#unavailable.size === 0 && now - this.#seenAt > BEFORE_MS;
    this.#reason = betterReason(isOld ? undefined : this.#reason, reason);
    this.#seenAt = now;
    if (this.#unavailable.size === 0 || this.#reason === this.#reported) return;
    if (!tellsWhy(this.#reason) || now - this.#reportedAt < REPORT_EVERY_MS) return;
    this.#reported = this.#reason;
    this.#reportedAt = now;
    this.#events.report({ name: 'redis-reason', reason: this.#reason });
  }
}
