import type { Admission } from '../admission/admission.ts';
import { foundIn, type Lookup, type TieredCache } from '../cache/tiered-cache.ts';
import { ProxyError } from '../errors.ts';
import { ofLoad } from '../fleet/lanes.ts';
import type { Acquisition, Lease, Leases } from '../once/lease.ts';
import type { Flight, FlightEnd } from '../once/single-flight.ts';
import { OUTCOMES, outcomeOf } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Pairs } from '../ton/canonical-request.ts';
import type { OperationName } from '../ton/operation-names.ts';
import { type Call, seqnoOf } from '../ton/parse-call.ts';
import type { IndexerAnswer, Indexers, Question } from './indexers.ts';
import type { Failed, LoadedAnswer, ProvenHit, TierHit } from './phase.ts';
import { type LoadRefused, type RefusalErrorOf, reportRefused } from './refusal-error.ts';

/** Events of a load. */
export type LoadEvent =
  | { readonly name: 'stored'; readonly operation: OperationName; readonly answerClass: string }
  | { readonly name: 'regressed'; readonly operation: OperationName }
  /** It waited for the lease of another instance. */
  | { readonly name: 'followed'; readonly operation: OperationName }
  | LoadRefused;

/** A flight without an answer. */
interface Unloaded extends Failed {
  /** For this time it also answers new requests for the key; 0 if it does not. */
  readonly ttlMs: Ms;
  /** True for a refresh that was not sent: a client that joined it begins its own load. */
  readonly isDropped: boolean;
  /** May be served instead, if it is still usable then. */
  readonly fallback: Lookup;
}

/** The result of one flight, the same for all its waiters. */
export type Load = TierHit | ProvenHit | LoadedAnswer | Unloaded;

/**
 * True if a request was sent to the indexer for this wait, as far as it saw: false if it followed another request's
 * flight.
 */
export function askedIndexer(end: FlightEnd<Load>): boolean {
  if (end.collapsed) return false;
  if (end.state === 'left') return end.departed;
  const { value } = end;
  return value.kind === 'loaded' || (value.kind === 'failed' && isKept(value.error));
}

/** True if a failure also answers new requests for its key. */
function isKept(error: ProxyError): boolean {
  return OUTCOMES[outcomeOf(error)].kept === 'briefly';
}

/** The time for which the failure of a load answers new requests; 0 if it does not, and for a success. */
export function failureTtlOf(load: Load): Ms {
  return load.kind === 'failed' ? load.ttlMs : 0;
}

/** Clients retry after 100 ms at the earliest: a key that fails gets at most four requests a second of each instance. */
export const FAILURE_TTL_MS: Ms = 250;

/** A large answer usually stays large for a while, and finding this out again costs the same bytes again. */
const TOO_LARGE_TTL_MS: Ms = 5000;

/**
 * True if the answer of a load may not be served to a follower: a purge covers it, its missing block is there now, or
 * the load was a refresh that was not sent.
 */
export function mustLoadAgain(load: Load, { tags }: Call, cache: TieredCache): boolean {
  return load.kind === 'failed' ? load.isDropped : cache.isOver(load.entry, tags);
}

/** True if the answer of a load lacks a transaction that this instance had seen by an instant. */
export function isOutdated(load: Load, at: MonotonicMs): boolean {
  return load.kind !== 'failed' && load.entry.proof?.isOutdated(at) === true;
}

export interface EntryLoaderDependencies {
  readonly cache: TieredCache;
  readonly admission: Pick<Admission, 'enter'>;
  readonly indexers: Pick<Indexers, 'ask'>;
  /** Absent when the proxy runs on memory alone. */
  readonly leases: Leases | undefined;
  readonly refusalError: RefusalErrorOf;
  readonly monotonic: () => MonotonicMs;
  readonly report: (event: LoadEvent) => void;
  /** The time that all Redis work of one load shares. */
  readonly redisBudgetMs: Ms;
  /** For this time a failure of the indexer answers its key. */
  readonly failureTtlMs: Ms;
}

/** The result of a look-up, and the remaining time for Redis. */
interface Look {
  readonly found: Lookup;
  readonly remainingBudgetMs: Ms;
}

/** The part of an {@link EntryLoader} that others use. */
export type Loader = Pick<EntryLoader, 'load'>;

/**
 * Loads a miss: looks into Redis, gets a ticket, then the lease, then sends the request to the indexer and stores its
 * answer. Expected failures are values; a throw is a bug.
 */
export class EntryLoader {
  readonly #dependencies: EntryLoaderDependencies;

  constructor(dependencies: EntryLoaderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Loads the entry of a call. With `acceptStale`, a copy from Redis in its stale-while-revalidate window is good
   * enough; a refresh needs a fresh one. `trace`: headers for the request to the indexer.
   */
  async load(call: Call, key: string, flight: Flight, acceptStale: boolean, trace: Pairs = []): Promise<Load> {
    const { admission, refusalError, report } = this.#dependencies;
    const { clients } = flight;
    const operation = call.operation.name;
    // Most results are available immediately, and an `await` would cost a tick.
    const looked = this.#lookUp(call, key);
    let look = looked instanceof Promise ? await looked : looked;
    for (;;) {
      const hit = hitOf(look.found, acceptStale);
      if (hit !== undefined) return hit;
      // Take the ticket before the lease: a lease holder still queued here would make every instance wait for our queue.
      const isRefresh = !acceptStale && clients.size === 0;
      const request = { operation, key, lane: ofLoad(isRefresh, seqnoOf(call)), clients, sentFor: flight };
      const entered = admission.enter(request);
      const ticket = entered instanceof Promise ? await entered : entered;
      if ('reason' in ticket) {
        const error = refusalError(request, ticket);
        reportRefused(request, error, report);
        return this.#failed(call, key, error, look.found, !acceptStale);
      }
      const loaded = await this.#loadWith({ call, request, flight, trace, ticket }, look, acceptStale);
      if ('kind' in loaded) return loaded;
      report({ name: 'followed', operation });
      const { found } = loaded;
      const landing = await loaded.landed(flight.signal);
      // After a failure, of the holder or of Redis, another wait could end in the same way: load without a lease.
      look = landing.state === 'over' ? await this.#lookUp(call, key) : { found, remainingBudgetMs: 0 };
    }
  }

  /** Loads with a ticket, unless another instance is loading the key, or it was stored meanwhile. */
  async #loadWith(
    question: Omit<Question, 'known'>,
    look: Look,
    acceptStale: boolean,
  ): Promise<Load | Extract<Acquisition, { state: 'taken' }>> {
    const { call, request, ticket } = question;
    let lease: Lease | undefined;
    let isSent = false;
    try {
      const asking = this.#acquire(call, request.key, look);
      const acquired = asking instanceof Promise ? await asking : asking;
      if (acquired.state === 'ours') lease = acquired.lease;
      // The wait for the ticket may have been long.
      const found = acquired.found.state === 'miss' ? look.found : acquired.found;
      const hit = hitOf(found, acceptStale);
      if (hit !== undefined) return hit;
      if (acquired.state === 'taken') return { ...acquired, found };
      const known = foundIn(acquired.found) ?? foundIn(look.found);
      // From here on the request owns the slot. The request may outlast this load: its hedge may be answered first.
      isSent = true;
      return await this.#fetch({ ...question, known }, lease, found, !acceptStale);
    } finally {
      if (!isSent) ticket.free();
      lease?.release();
    }
  }

  /** Tries to get the lease, if there is Redis and time for it. Looks into memory again in any case. */
  #acquire({ tags }: Call, key: string, { remainingBudgetMs }: Look): Acquisition | Promise<Acquisition> {
    const { leases, cache } = this.#dependencies;
    if (leases === undefined || remainingBudgetMs <= 0)
      return { state: 'unavailable', found: cache.lookInMemory(key, tags) };
    return leases.acquire(key, tags, remainingBudgetMs);
  }

  async #fetch(question: Question, lease: Lease | undefined, found: Lookup, isRefresh: boolean): Promise<Load> {
    const replaced = found.state !== 'miss';
    const result = await this.#dependencies.indexers.ask(question, (answer) =>
      this.#keep(question, answer, lease, replaced),
    );
    if (!(result instanceof ProxyError)) return result;
    reportRefused(question.request, result, this.#dependencies.report);
    // A local refusal (overload, shutdown) ends the lease by its release.
    if (isKept(result)) lease?.fail();
    return this.#failed(question.call, question.request.key, result, found, isRefresh);
  }

  /** Stores the answer while it still has its slot: the request that gets the slot next may then find it in memory. */
  #keep({ call, known }: Question, { entry }: IndexerAnswer, lease: Lease | undefined, replaced: boolean): Load {
    const { cache, report } = this.#dependencies;
    const operation = call.operation.name;
    const stored = cache.set(entry, call.tags, { known, lease });
    const { status, answerClass } = entry.meta;
    if (stored.outcome === 'stored') report({ name: 'stored', operation, answerClass });
    if (stored.outcome === 'regressed') report({ name: 'regressed', operation });
    const served = 'kept' in stored ? stored.kept : entry;
    const wasKept = replaced || stored.outcome === 'regressed';
    return { kind: 'loaded', entry: served, status, stored: stored.outcome, replaced: wasKept };
  }

  #lookUp({ tags }: Call, key: string): Look | Promise<Look> {
    const { cache, monotonic, redisBudgetMs } = this.#dependencies;
    const startedAt = monotonic();
    const looked = cache.lookUp(key, tags);
    if (!(looked instanceof Promise)) return { found: looked, remainingBudgetMs: redisBudgetMs };
    return looked.then((found) => ({ found, remainingBudgetMs: redisBudgetMs - (monotonic() - startedAt) }));
  }

  #failed(call: Call, key: string, error: ProxyError, found: Lookup, isRefresh: boolean): Load {
    const inMemory = this.#dependencies.cache.lookInMemory(key, call.tags);
    // `found` is the fallback if memory has none: an entry that is too large for memory is only in Redis.
    const isDropped = isRefresh && error.code === 'overloaded';
    const fallback = inMemory.state === 'miss' ? found : inMemory;
    return { kind: 'failed', error, isDropped, fallback, ttlMs: isKept(error) ? this.#ttlOf(call, error) : 0 };
  }

  /** The time for which a kept failure answers new requests. */
  #ttlOf({ operation }: Call, { code }: ProxyError): Ms {
    // If requests have no parameters (`masterchainInfo`), all clients share one answer, and the next block brings
    // another.
    const isLasting = code === 'upstream-too-large' && operation.isFurther && operation.queryNames.size > 0;
    return isLasting ? TOO_LARGE_TTL_MS : this.#dependencies.failureTtlMs;
  }
}

/**
 * The hit in the result of a look-up, if there is one; with `acceptStale`, also in its stale-while-revalidate window.
 */
function hitOf(found: Lookup, acceptStale: boolean): TierHit | ProvenHit | undefined {
  if (found.state === 'proven') return { kind: 'proven', entry: found.entry };
  const isHit = found.state === 'fresh' || (found.state === 'stale-while-revalidate' && acceptStale);
  return isHit ? { kind: 'hit', entry: found.entry, tier: found.tier } : undefined;
}
