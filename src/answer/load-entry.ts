import type { Admission } from '../admission/admission.ts';
import type { Entry } from '../cache/entry.ts';
import { foundIn, type Lookup, type StoreOutcome, type TieredCache } from '../cache/tiered-cache.ts';
import { ProxyError } from '../errors.ts';
import { ofLoad } from '../fleet/lanes.ts';
import type { Acquisition, Lease, Leases } from '../once/lease.ts';
import type { Flight, FlightEnd } from '../once/single-flight.ts';
import { OUTCOMES, outcomeOf } from '../outcomes.ts';
import type { EventEffects } from '../push/apply-events.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import type { Pairs } from '../ton/canonical-request.ts';
import { type Call, seqnoOf } from '../ton/parse-call.ts';
import type { Report } from './events.ts';
import type { IndexerAnswer, Indexers, Question } from './indexers.ts';
import { type RefusalErrorOf, reportShed } from './refusal-error.ts';
import { decodeFailure, encodeFailure, type SharedFailure } from './shared-failure.ts';

/** The result of one flight. */
export type Load =
  | { readonly from: 'memory' | 'redis'; readonly entry: Entry; readonly isProven?: boolean }
  | {
      readonly from: 'upstream';
      /** The entry to serve: the indexer's answer, or the kept entry where that is more complete or was asked for later. */
      readonly entry: Entry;
      /** The status that the indexer answered with. */
      readonly status: number;
      readonly stored: StoreOutcome['outcome'];
      /** Whether the cache had a copy that was stale, or serves one instead of a regressed answer. */
      readonly replaced: boolean;
    }
  | {
      readonly from: 'nowhere';
      readonly error: ProxyError;
      /** How long it answers those who ask next; absent where it does not. */
      readonly ttlMs?: Ms;
      /** Whether it was a refresh that was not sent: a client that joined it begins a load of its own. */
      readonly isDropped?: boolean;
      /** What may be served instead, if it is still usable then. */
      readonly fallback: Lookup;
    };

/** Whether the indexer was asked for a wait, as far as it saw: not for one that followed another's flight. */
export function askedIndexer(end: FlightEnd<Load>): boolean {
  if (end.collapsed) return false;
  if (end.state === 'left') return end.departed;
  const { value } = end;
  return value.from === 'upstream' || (value.from === 'nowhere' && isKept(value.error));
}

/** Whether a failure answers those who ask next. */
function isKept(error: ProxyError): boolean {
  return OUTCOMES[outcomeOf(error)].kept === 'briefly';
}

/** How long the failure of a load answers those who ask next; 0 for one that does not, and for what is no failure. */
export function failureTtlOf(load: Load): Ms {
  return load.from === 'nowhere' ? (load.ttlMs ?? 0) : 0;
}

/** What is too large mostly is so for a while, and to learn it again costs as many bytes again. */
const TOO_LARGE_TTL_MS: Ms = 5000;

/**
 * Whether the answer of a load may not be served to one who has only followed it: a purge covers it, the block that it
 * lacks is there now, or the load was a refresh that was not sent.
 */
export function mustLoadAgain(load: Load, { tags }: Call, cache: TieredCache): boolean {
  return load.from === 'nowhere' ? load.isDropped === true : cache.isOver(load.entry, tags);
}

export interface EntryLoaderDependencies {
  readonly cache: TieredCache;
  readonly admission: Pick<Admission, 'enter'>;
  readonly indexers: Pick<Indexers, 'ask'>;
  /** Absent when the proxy runs on memory alone. */
  readonly leases: Leases | undefined;
  readonly refusalError: RefusalErrorOf;
  /** Absent where `stream.url` is not set. */
  readonly pushed: EventEffects | undefined;
  /** The clock of Redis, where there is one. */
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly report: Report;
  /** The time that all Redis work of one load shares. */
  readonly redisBudgetMs: Ms;
  /** How long a failure of the indexer answers its key. */
  readonly failureTtlMs: Ms;
}

/** What a look-up found, and how much of the time for Redis remains. */
interface Look {
  readonly found: Lookup;
  readonly remainingBudgetMs: Ms;
}

/** The part of an {@link EntryLoader} that others use. */
export type Loader = Pick<EntryLoader, 'load'>;

/**
 * Loads a miss: asks Redis, then gets a ticket, then the lease, then asks the indexer and stores its answer. Expected
 * failures are values; a throw is a bug.
 */
export class EntryLoader {
  readonly #dependencies: EntryLoaderDependencies;

  constructor(dependencies: EntryLoaderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Loads the entry of a call. With `acceptStale`, a copy from Redis in its stale-while-revalidate window is good
   * enough; a refresh needs a fresh one. `trace`: headers that are sent with the request to the indexer.
   */
  async load(call: Call, key: string, flight: Flight, acceptStale: boolean, trace: Pairs = []): Promise<Load> {
    const { admission, refusalError, report } = this.#dependencies;
    const { clients } = flight;
    const operation = call.operation.name;
    // Most of what a load asks for is there at once, and an `await` of what is there costs a tick.
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
        reportShed(request, error, report);
        return this.#failed(call, key, error, look.found, !acceptStale);
      }
      const loaded = await this.#loadWith({ call, request, flight, trace, ticket }, look, acceptStale);
      if ('from' in loaded) return loaded;
      report({ name: 'followed', operation });
      const { found } = loaded;
      const landing = await loaded.landed(flight.signal);
      const failure = landing.state === 'failed' ? decodeFailure(landing.failure) : undefined;
      if (failure !== undefined) {
        return this.#failed(call, key, failure.error, found, false, this.#remainingTtlOf(call, failure));
      }
      // With Redis failing, or a failure that concerns its instance alone, another wait could end in the same way: load
      // without it.
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
      // From here on the slot is that of the request, which may outlast this load: a hedge may be answered before it.
      isSent = true;
      return await this.#fetch({ ...question, known }, lease, found, !acceptStale);
    } finally {
      if (!isSent) ticket.free();
      lease?.release();
    }
  }

  /** Asks for the lease, where there is Redis and time for it; in any case looks into memory again. */
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
    reportShed(question.request, result, this.#dependencies.report);
    // A local refusal (overload, shutdown) ends the lease by its release.
    if (lease !== undefined && isKept(result)) this.#share(question.call, result, lease);
    return this.#failed(question.call, question.request.key, result, found, isRefresh);
  }

  /** Stores the answer while it still has its slot: the request that gets the slot next may find it in memory. */
  #keep({ call, known }: Question, { entry, facts }: IndexerAnswer, lease: Lease | undefined, replaced: boolean): Load {
    const { cache, pushed, report } = this.#dependencies;
    const operation = call.operation.name;
    const inMemory = pushed?.answered(entry, facts.watchable);
    const stored = cache.set(entry, call.tags, { known, lease, inMemory });
    const { status, answerClass } = entry.meta;
    if (stored.outcome === 'stored') report({ name: 'stored', operation, answerClass });
    if (stored.outcome === 'regressed') report({ name: 'regressed', operation });
    const served = 'kept' in stored ? stored.kept : entry;
    const wasKept = replaced || stored.outcome === 'regressed';
    return { from: 'upstream', entry: served, status, stored: stored.outcome, replaced: wasKept };
  }

  #lookUp({ tags }: Call, key: string): Look | Promise<Look> {
    const { cache, monotonic, redisBudgetMs } = this.#dependencies;
    const startedAt = monotonic();
    const looked = cache.lookUp(key, tags);
    if (!(looked instanceof Promise)) return { found: looked, remainingBudgetMs: redisBudgetMs };
    return looked.then((found) => ({ found, remainingBudgetMs: redisBudgetMs - (monotonic() - startedAt) }));
  }

  #failed(
    call: Call,
    key: string,
    error: ProxyError,
    found: Lookup,
    isRefresh = false,
    ttlMs = isKept(error) ? this.#ttlOf(call, error) : 0,
  ): Load {
    const inMemory = this.#dependencies.cache.lookInMemory(key, call.tags);
    // An entry too large for memory was only found in Redis.
    const isDropped = isRefresh && error.code === 'overloaded';
    const fallback = inMemory.state === 'miss' ? found : inMemory;
    return { from: 'nowhere', error, isDropped, fallback, ttlMs };
  }

  /** Ends the lease by a failure: other instances get it for as long as those who ask here, or load at once. */
  #share(call: Call, error: ProxyError, lease: Lease): void {
    const ttlMs = this.#ttlOf(call, error);
    const failure = encodeFailure(error, this.#dependencies.now() + ttlMs);
    if (failure === undefined) lease.failAlone();
    else lease.fail(failure, ttlMs);
  }

  /** How long a failure that is kept answers those who ask next. */
  #ttlOf({ operation }: Call, { code }: ProxyError): Ms {
    // Where requests name nothing (`masterchainInfo`), one answer is for everybody, and the next block brings another.
    const isLasting = code === 'upstream-too-large' && operation.isFurther && operation.queryNames.size > 0;
    return isLasting ? TOO_LARGE_TTL_MS : this.#dependencies.failureTtlMs;
  }

  /** The same of a failure that another instance shared. Where its end is not known, the next one looks into Redis again. */
  #remainingTtlOf(call: Call, { error, until = 0 }: SharedFailure): Ms {
    return Math.min(Math.max(0, until - this.#dependencies.now()), this.#ttlOf(call, error));
  }
}

/** The hit that a look-up found, if it is one; with `acceptStale`, also in its stale-while-revalidate window. */
function hitOf(found: Lookup, acceptStale: boolean): Load | undefined {
  if (found.state === 'proven') return { from: 'memory', entry: found.entry, isProven: true };
  const isHit = found.state === 'fresh' || (found.state === 'stale-while-revalidate' && acceptStale);
  return isHit ? { from: found.tier, entry: found.entry } : undefined;
}
