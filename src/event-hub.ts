import type { KeyPaused } from './admission/pause.ts';
import type { FollowerEvent } from './answer/block-proof.ts';
import type { UselessAnswer } from './answer/classify-answer.ts';
import type { LoadEvent } from './answer/load.ts';
import type { RedisTierEvent } from './cache/redis-tier.ts';
import type { PassEvent } from './http/pass-through/pass-on.ts';
import type { ResponderEvent } from './http/public/responder.ts';
import type { UpstreamEvent } from './indexer/upstream-client.ts';
import type { PurgeEvent } from './purge/purges.ts';
import type { EvictionProblem } from './redis/eviction.ts';
import type { RedisTransition } from './redis/transitions.ts';

/**
 * Everything that components report. An event stands beside the component that reports it; these below are reported where
 * components are connected.
 */
export type AppEvent =
  | ResponderEvent
  | LoadEvent
  | UselessAnswer
  | UpstreamEvent
  | PassEvent
  | FollowerEvent
  | RedisTierEvent
  | PurgeEvent
  | ({ readonly name: 'redis-transition' } & RedisTransition)
  /** Why Redis, or a node of it, refused something or could not be reached. Reported each time. */
  | { readonly name: 'redis-error'; readonly reason: string }
  | { readonly name: 'redis-evicts-nothing'; readonly problem: EvictionProblem }
  /** The indexer answered 429 for this key only. */
  | ({ readonly name: 'key-paused'; readonly indexer: string; readonly says: string } & KeyPaused)
  /** Many requests in a row came from this address, which forwards requests of others and is not trusted. */
  | { readonly name: 'proxy-not-trusted'; readonly address: string }
  /** The trusted proxy at this address names clients only in a header that is not read. */
  | { readonly name: 'client-not-named'; readonly address: string; readonly header: string }
  /** A connection to one of our ports could not be accepted, for example without a free descriptor. */
  | { readonly name: 'not-accepted'; readonly cause: unknown }
  /** The limit of open files has no room for `http.maxConnections`. */
  | { readonly name: 'few-open-files'; readonly warning: string }
  /** An entry was evicted from memory while it was fresh. */
  | { readonly name: 'evicted' }
  /** A served answer was less complete than an earlier one. */
  | { readonly name: 'older-answer' }
  | { readonly name: 'compressed' }
  /** Our time jumped: see {@link Clock}. */
  | { readonly name: 'clock-jump' };

type EventName = AppEvent['name'];

type EventOf<N extends EventName> = Extract<AppEvent, { readonly name: N }>;

/** Functions that read a value from an event, by event name. */
export type ByEvent<R> = { readonly [N in EventName]?: (event: EventOf<N>) => R };

/**
 * The place where the components of one app report events. It is built before all of them, so that each gets its
 * `report` and needs no component that is built later.
 */
export class EventHub {
  readonly #listeners = new Map<string, ((event: AppEvent) => void)[]>();

  /** Calls the listeners of this event, in the order of their registration. Listeners must not throw. */
  readonly report = (event: AppEvent): void => {
    for (const listener of this.#listeners.get(event.name) ?? []) listener(event);
  };

  readonly reportBug = (error: unknown): void => this.report({ name: 'bug', error });

  /** Listens to the events of a name from now on. */
  on<N extends EventName>(name: N, listener: (event: EventOf<N>) => void): void {
    // The cast: TypeScript does not see that a name and its events belong together.
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener as (event: AppEvent) => void]);
  }

  /** Listens to the events of several names from now on, with the value that is read from each. */
  onEach<R>(readers: ByEvent<R>, listener: (found: R, event: AppEvent) => void): void {
    for (const [name, read] of Object.entries(readers)) {
      // The casts: as above.
      this.on(name as EventName, (event) => listener((read as (event: AppEvent) => R)(event), event));
    }
  }
}
