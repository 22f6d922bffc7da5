import type { Admission } from '../admission/admission.ts';
import type { Priority } from '../admission/backlog.ts';
import type { EntryRequest } from '../admission/guard.ts';
import type { Entry } from '../cache/entry.ts';
import type { Lookup, TieredCache } from '../cache/tiered-cache.ts';
import type { Acquisition, RedisLease } from '../coalescing/redis-lease.ts';
import type { Flight } from '../coalescing/single-flight.ts';
import { ProxyError } from '../errors.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Report } from './events.ts';
import type { EntryFetcher, Fetched } from './fetch-entry.ts';
import { overloaded, type Shed } from './overloaded.ts';
import { decodeFailure } from './shared-failure.ts';

/** The result of one flight. */
export type Load =
  | { readonly from: 'memory' | 'redis'; readonly entry: Entry }
  /** `replaced`: whether the cache held a copy that was too old to be served. */
  | (Fetched & { readonly from: 'upstream'; readonly replaced: boolean })
  | {
      readonly from: 'nowhere';
      readonly error: ProxyError;
      /** What may be served instead, if it is still usable then. */
      readonly fallback: Lookup;
    };

export interface EntryLoaderDependencies {
  readonly cache: TieredCache;
  readonly admission: Admission;
  readonly fetcher: EntryFetcher;
  /** Absent when the proxy runs on memory alone. */
  readonly leases: RedisLease | undefined;
  /** 0 to 1. */
  readonly random: () => number;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly report: Report;
}

export interface EntryLoaderOptions {
  /** The time that all Redis work of one load shares, in milliseconds. */
  readonly redisBudgetMs: number;
}

/** A load: its call and key, and the flight it runs for. */
interface Loaded {
  readonly call: Call;
  readonly key: string;
  readonly flight: Flight;
  readonly traceparent: string | undefined;
}

/** What a look-up found, and how much of the time for Redis it left. */
interface Look {
  readonly found: Lookup;
  readonly budgetLeftMs: number;
}

/** The part of an {@link EntryLoader} that others use. */
export type Loader = Pick<EntryLoader, 'load'>;

/**
 * Loads a miss: asks Redis, then gets a ticket, then the lease, then asks the indexer. Expected failures are values; a
 * throw is a bug.
 */
export class EntryLoader {
  readonly #dependencies: EntryLoaderDependencies;
  readonly #options: EntryLoaderOptions;

  constructor(dependencies: EntryLoaderDependencies, options: EntryLoaderOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /**
   * Loads the entry of a call. With `acceptStale`, a copy from Redis in its stale-while-revalidate window is good
   * enough; a refresh needs a fresh one. `traceparent` is sent with the request to the indexer, if there is one.
   */
  async load(call: Call, key: string, flight: Flight, acceptStale: boolean, traceparent?: string): Promise<Load> {
    let look = await this.#lookUp(key);
    for (let isFirst = true; ; isFirst = false) {
      const { found } = look;
      if (found.state === 'fresh' || (found.state === 'stale-while-revalidate' && acceptStale)) {
        return { from: found.tier, entry: found.entry };
      }
      const outcome = await this.#loadOrFollow({ call, key, flight, traceparent }, look, isFirst);
      if (outcome instanceof ProxyError) return this.#failed(key, outcome, found);
      if ('from' in outcome) {
        return outcome.from === 'memory' ? outcome : { ...outcome, replaced: found.state !== 'miss' };
      }
      if (outcome.state === 'failed') {
        const failure = decodeFailure(outcome.failure);
        if (failure !== undefined) return this.#failed(key, failure, found);
      }
      // If the shared failure is unreadable or Redis is unavailable, load without Redis: another wait could end the
      // same way.
      const isAlone = outcome.state === 'failed' || outcome.state === 'unavailable';
      look = isAlone ? { found, budgetLeftMs: 0 } : await this.#lookUp(key);
    }
  }

  /** Takes the ticket before the lease: a lease holder still queued here would make every instance wait for our queue. */
  async #loadOrFollow(
    { call, key, flight, traceparent }: Loaded,
    look: Look,
    isFirst: boolean,
  ): Promise<Fetched | ProxyError | Followed> {
    const { admission, fetcher, report } = this.#dependencies;
    const operation = call.operation.name;
    // Once a client has joined a refresh, somebody waits for it.
    const priority = flight.isFollowed ? raised(PRIORITY[look.found.state]) : PRIORITY[look.found.state];
    const request: EntryRequest = { operation, key, priority, signal: flight.signal };
    flight.onFollowed = () => admission.raise(request);
    const ticket = await admission.enter(request);
    if (ticket === 'abandoned') return new ProxyError('client-left', 'nobody waits for this answer');
    if ('reason' in ticket) return this.#shed(call, ticket);
    const acquired = await this.#acquire(key, look, isFirst);
    if (acquired === undefined || acquired.state === 'load') {
      const known = 'entry' in look.found ? look.found.entry : undefined;
      return fetcher.fetch({ call, request, flight, traceparent, ticket, lease: acquired?.lease, known });
    }
    ticket.end('unsent');
    if (acquired.state !== 'taken') return acquired;
    // Another instance is loading it already.
    flight.depart();
    report({ name: 'followed', operation });
    return acquired.landed();
  }

  #acquire(key: string, { found, budgetLeftMs }: Look, isFirst: boolean): Promise<Acquisition> | undefined {
    const { leases } = this.#dependencies;
    if (leases === undefined || found.stamp === undefined || budgetLeftMs <= 0) return undefined;
    return leases.acquire(key, { stamp: found.stamp, budgetMs: budgetLeftMs, isFirst });
  }

  #lookUp(key: string): Look | Promise<Look> {
    const { cache, monotonic } = this.#dependencies;
    const { redisBudgetMs } = this.#options;
    const startedAt = monotonic();
    const looked = cache.lookUp(key);
    if (!(looked instanceof Promise)) return { found: looked, budgetLeftMs: redisBudgetMs };
    return looked.then((found) => ({ found, budgetLeftMs: redisBudgetMs - (monotonic() - startedAt) }));
  }

  #failed(key: string, error: ProxyError, found: Lookup): Load {
    const inMemory = this.#dependencies.cache.lookForFallback(key);
    // An entry too large for memory was only found in Redis.
    return { from: 'nowhere', error, fallback: inMemory.state === 'miss' ? found : inMemory };
  }

  #shed(call: Call, shed: Shed): ProxyError {
    this.#dependencies.report({ name: 'shed', operation: call.operation.name, reason: shed.reason });
    return overloaded(this.#dependencies.random, shed);
  }
}

/** How following another instance's load ended. */
type Followed = Exclude<Acquisition, { state: 'load' | 'taken' }> | { readonly state: 'free' | 'unavailable' };

/** The less clients have without a load, the higher its priority. */
const PRIORITY: Record<Lookup['state'], Priority> = {
  // Never used: a fresh entry is answered without a load.
  fresh: 'miss',
  miss: 'miss',
  'stale-if-error': 'miss-with-fallback',
  'stale-while-revalidate': 'refresh',
};

function raised(priority: Priority): Priority {
  return priority === 'refresh' ? 'miss' : priority;
}
