import type { Admission } from '../admission/admission.ts';
import type { EntryRequest } from '../admission/guard.ts';
import { FIRST_TRY } from '../admission/send-rules.ts';
import type { Entry } from '../cache/entry.ts';
import { foundIn, type Lookup, type TieredCache } from '../cache/tiered-cache.ts';
import { ProxyError } from '../errors.ts';
import type { Acquisition, Landing, Lease, Leases } from '../once/lease.ts';
import type { Flight, FlightEnd } from '../once/single-flight.ts';
import { OUTCOMES, outcomeOf } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Pairs } from '../ton/canonical-request.ts';
import type { OperationName } from '../ton/operation-names.ts';
import { type Call, seqnoOf } from '../ton/parse-call.ts';
import type { Ask } from './ask.ts';
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
  return value.kind === 'loaded' || (value.kind === 'failed' && value.error.wentForward);
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

export interface LoaderDependencies {
  readonly cache: TieredCache;
  readonly admission: Pick<Admission, 'enter'>;
  readonly ask: Ask;
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

/**
 * Loads the entry of a call for a flight. With `acceptStale`, a copy from Redis in its stale-while-revalidate window is
 * good enough; a refresh needs a fresh one. `trace`: headers for the request to the indexer. Expected failures are
 * values; a throw is a bug.
 */
export type Loader = (call: Call, key: string, flight: Flight, acceptStale: boolean, trace?: Pairs) => Promise<Load>;

/** Builds {@link Loader}: look into Redis, get a ticket, then the lease, then ask the indexer and store its answer. */
export function loaderWith(dependencies: LoaderDependencies): Loader {
  const { cache, admission, ask, leases, refusalError, monotonic, report, redisBudgetMs, failureTtlMs } = dependencies;

  return load;

  async function load(call: Call, key: string, flight: Flight, acceptStale: boolean, trace: Pairs = []): Promise<Load> {
    const { tags } = call;
    const { clients } = flight;
    const operation = call.operation.name;
    let { found, redisMs } = await look(key, tags);
    for (;;) {
      const early = hitOf(found, acceptStale);
      if (early !== undefined) return early;
      // A refresh never waits, unless a client has joined it.
      const waits = acceptStale || clients.size > 0;
      const request = { ...FIRST_TRY, waits, seqno: seqnoOf(call), operation, key, clients, sentFor: flight };
      // The ticket before the lease: a lease holder still queued here would make every instance wait for our queue.
      const ticket = await admission.enter(request);
      if ('reason' in ticket) return failed(call, request, refusalError(request, ticket), found, acceptStale);
      let lease: Lease | undefined;
      let landed: (signal: AbortSignal) => Promise<Landing>;
      try {
        const acquired = await takeLease(key, call, redisMs);
        if (acquired.state === 'ours') lease = acquired.lease;
        const known = foundIn(acquired.found) ?? foundIn(found);
        // The wait for the ticket may have been long.
        if (acquired.found.state !== 'miss') found = acquired.found;
        const cached = hitOf(found, acceptStale);
        if (cached !== undefined) return cached;
        if (acquired.state !== 'taken') {
          const replaced = found.state !== 'miss';
          const loaded = await ask({ call, request, flight, trace, ticket, known }, ({ entry }) =>
            store(call, entry, { known, lease }, replaced),
          );
          if (!(loaded instanceof ProxyError)) return loaded;
          // A local refusal (overload, shutdown) ends the lease by its release.
          if (isKept(loaded)) lease?.fail();
          return failed(call, request, loaded, found, acceptStale);
        }
        landed = acquired.landed;
      } finally {
        // Nothing was sent for it if another instance has the lease, or if the answer was there in the meantime: then its slot
        // is free here. Otherwise `ask` has freed it.
        ticket.drop();
        lease?.release();
      }
      report({ name: 'followed', operation });
      const { state } = await landed(flight.signal);
      // After a failure, of the holder or of Redis, another wait could end in the same way: load without a lease.
      if (state === 'over') ({ found, redisMs } = await look(key, tags));
      else redisMs = 0;
    }
  }

  /** Looks into both tiers. `redisMs`: the remaining time for Redis. */
  async function look(key: string, tags: readonly string[]): Promise<{ found: Lookup; redisMs: Ms }> {
    const startedAt = monotonic();
    const found = await cache.lookUp(key, tags);
    return { found, redisMs: redisBudgetMs - (monotonic() - startedAt) };
  }

  /** Tries to get the lease, if there is Redis and time for it, and others may wait. Looks into memory in any case. */
  function takeLease(key: string, { operation, tags }: Call, redisMs: Ms): Acquisition | Promise<Acquisition> {
    if (leases !== undefined && redisMs > 0 && operation.joinedForMs === undefined)
      return leases.acquire(key, tags, redisMs);
    return { state: 'unavailable', found: cache.lookInMemory(key, tags) };
  }

  /** Stores an answer, which ends the lease. `replaced`: the cache had a stale copy. */
  function store(
    { operation, tags }: Call,
    entry: Entry,
    over: { readonly known: Entry | undefined; readonly lease: Lease | undefined },
    replaced: boolean,
  ): Load {
    const { status, answerClass } = entry.meta;
    const result = cache.set(entry, tags, over);
    const { outcome } = result;
    if (outcome === 'stored') report({ name: outcome, operation: operation.name, answerClass });
    if (outcome === 'regressed') report({ name: outcome, operation: operation.name });
    const served = 'kept' in result ? result.kept : entry;
    return { kind: 'loaded', entry: served, status, stored: outcome, replaced: replaced || outcome === 'regressed' };
  }

  function failed(call: Call, request: EntryRequest, error: ProxyError, found: Lookup, acceptStale: boolean): Load {
    reportRefused(request, error, report);
    // `found` is the fallback if memory has none: an entry that is too large for memory is only in Redis.
    const inMemory = cache.lookInMemory(request.key, call.tags);
    const fallback = inMemory.state === 'miss' ? found : inMemory;
    const isDropped = !acceptStale && error.code === 'overloaded';
    return { kind: 'failed', error, isDropped, fallback, ttlMs: isKept(error) ? failureTtlMs : 0 };
  }
}

/**
 * The hit in the result of a look-up, if there is one; with `acceptStale`, also in its stale-while-revalidate window.
 */
export function hitOf(found: Lookup, acceptStale: boolean): TierHit | ProvenHit | undefined {
  if (found.state === 'proven') return { kind: 'proven', entry: found.entry };
  const isHit = found.state === 'fresh' || (found.state === 'stale-while-revalidate' && acceptStale);
  return isHit ? { kind: 'hit', entry: found.entry, tier: found.tier } : undefined;
}
