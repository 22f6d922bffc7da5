import type { RedisTierEvent } from './cache/redis-tier.ts';
import type { ProxyEvent } from './proxy/events.ts';
import type { PurgeEvent } from './purge/purges.ts';
import type { StreamEvent } from './push/events.ts';
import type { EvictionProblem } from './redis/ask-server.ts';
import type { RedisTransition } from './redis/transitions.ts';

/** One kind of event. Reporters and listeners do not know each other. */
class Topic<E> {
  readonly #listeners: ((event: E) => void)[] = [];

  /** Calls every listener, in the order in which they subscribed. Listeners must not throw. */
  readonly report = (event: E): void => {
    for (const listener of this.#listeners) listener(event);
  };

  subscribe(listener: (event: E) => void): void {
    this.#listeners.push(listener);
  }
}

/**
 * Where the components of one app report what happens. It is built before all of them, so that each gets its `report`
 * and needs no component that is built later.
 */
export class EventHub {
  readonly proxy = new Topic<ProxyEvent>();
  readonly redisCalls = new Topic<RedisTierEvent>();
  readonly redisTransitions = new Topic<RedisTransition>();
  readonly evictionProblems = new Topic<EvictionProblem>();
  readonly purges = new Topic<PurgeEvent>();
  readonly stream = new Topic<StreamEvent>();
  /** Our time jumped, forward or back, by more than a second: see {@link Clock}. */
  readonly clockJumps = new Topic<void>();

  /** For an error that no code expects. */
  readonly reportBug = (error: unknown): void => this.proxy.report({ name: 'bug', error });
}
