import type { MemoryPressure } from '../admission/memory-pressure.ts';
import type { Entry } from '../cache/entry.ts';
import type { Gzip, SentBody } from '../cache/gzip.ts';
import type { Lookup, TieredCache } from '../cache/tiered-cache.ts';
import type { PerClientLimit } from '../clients/per-client-limit.ts';
import { failure, mayBePassedOn, overloaded, type ProxyError } from '../errors.ts';
import type { RefusedReason } from '../failures/refusals.ts';
import { freshnessOf } from '../freshness.ts';
import type { FlightEnd, SingleFlight } from '../once/single-flight.ts';
import { CLIENT_MISTAKES } from '../outcomes.ts';
import type { EpochMs, MonotonicMs } from '../time-units.ts';
import type { CallMemo, KeyedCall } from '../ton/call-memo.ts';
import { OPERATION_NAMES, type OperationName } from '../ton/operation-names.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Answer, ProxyRequest } from './answer.ts';
import type { PollCount } from './block-proof.ts';
import { type CacheStatus, hitStatus, PROVEN_STATUS, ttlOf } from './cache-status.ts';
import type { ProxyEvent, Report, RequestOutcome } from './events.ts';
import { askedIndexer, isOutdated, type Load, type Loader, mustLoadAgain } from './load-entry.ts';
import type { RefreshStale } from './refresh-stale.ts';
import { traceOf } from './request-trace.ts';
import type { Wait } from './wait.ts';

/** An entry in memory that is fresh or proven, with the body for a client. */
export interface MemoryHit {
  readonly state: 'fresh' | 'proven';
  readonly entry: Entry;
  readonly sent: SentBody;
  readonly call: Call;
  readonly key: string;
  /** The instant of the look-up. */
  readonly at: EpochMs;
}

/** A shortcut to hits in memory for the fast lane, which sends them without an {@link Answer} object. */
export type MemoryHits = Pick<RequestHandler, 'findHit' | 'countHit'>;

export interface RequestHandlerDependencies {
  readonly calls: CallMemo;
  readonly gzip: Pick<Gzip, 'bodyFor'>;
  readonly cache: TieredCache;
  readonly flights: SingleFlight<Load>;
  readonly loader: Loader;
  readonly refreshStale: RefreshStale;
  /** Limits the misses of each client; absent without a limit. */
  readonly missLimit: PerClientLimit | undefined;
  /** While the memory of this process is full, no request may follow a flight. */
  readonly memory: Pick<MemoryPressure, 'isFull' | 'makeRoomIfFull'>;
  /** Called with the key of each request that can be answered. */
  readonly onTouch: (key: string) => void;
  /** Counts polls that blocks can prove. Absent if no answers are proven. */
  readonly demand: PollCount | undefined;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly random: () => number;
  readonly report: Report;
}

/** Answers one request, from its parameters to its answer. */
export class RequestHandler {
  readonly #dependencies: RequestHandlerDependencies;

  constructor(dependencies: RequestHandlerDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Answers immediately from memory, otherwise when the flight lands or the wait ends. Throws a {@link ProxyError}
   * `invalid-request` or `not-cacheable`; every other expected failure is an {@link Answer}.
   */
  handle(request: ProxyRequest): Answer | Promise<Answer> {
    const { calls, cache, memory, refreshStale } = this.#dependencies;
    const keyed = this.#read(request);
    const { call, key } = keyed;
    this.#dependencies.onTouch(key);
    const found = cache.lookInMemory(key, call.tags);
    if (found.state !== 'fresh') memory.makeRoomIfFull();
    if (found.state === 'miss' || found.state === 'stale-if-error') {
      const { flights, missLimit, random } = this.#dependencies;
      const follows = flights.hasFlightToFollow(key);
      if (memory.isFull && follows) return this.#shed(call, key, 'memory', overloaded('memory', random()));
      const wait = request.openWait();
      const limited = follows ? undefined : missLimit?.take(wait.client ?? '');
      if (limited !== undefined) {
        wait.close();
        return this.#shed(call, key, 'client-limit', limited);
      }
      return this.#join(keyed, wait, request, !follows);
    }
    calls.remember(keyed);
    if (found.state === 'stale-while-revalidate') refreshStale(call, key);
    return found.state === 'proven' ? this.#proven(call, found.entry) : this.#hit(call, found.entry, 'memory');
  }

  /**
   * Finds the fresh or proven entry in memory for a spelling (`operation?query`, unchanged, without headers that change
   * the answer), if the spelling was a hit before and the body for this client is ready. `undefined` does not mean a
   * miss: {@link handle} decides then.
   */
  findHit(spelling: string, acceptsGzip: boolean): MemoryHit | undefined {
    const { calls, cache, gzip, now } = this.#dependencies;
    const keyed = calls.recall(spelling);
    if (keyed === undefined) return undefined;
    const at = now();
    const found = cache.lookInMemory(keyed.key, keyed.call.tags, at);
    if (found.state !== 'fresh' && found.state !== 'proven') return undefined;
    const { entry, state } = found;
    const sent = gzip.bodyFor(entry, acceptsGzip);
    if (sent instanceof Promise) return undefined;
    return { state, entry, sent, call: keyed.call, key: keyed.key, at };
  }

  /** Call for each hit that is sent. A hit that is not sent is counted when `handle` answers it. */
  countHit({ call, key, state, entry }: MemoryHit): void {
    this.#dependencies.onTouch(key);
    this.#countPoll(call, entry);
    this.#dependencies.report((state === 'proven' ? PROVEN_HITS : MEMORY_HITS)[call.operation.name]);
  }

  /** Counts the poll for the block follower. */
  #countPoll({ operation }: Call, entry: Entry): void {
    const { demand } = this.#dependencies;
    if (demand !== undefined && operation.evidence !== undefined) demand.answered(entry.key, entry.etag);
  }

  #read({ operation, rawQuery, headers }: ProxyRequest): KeyedCall {
    const { calls, report } = this.#dependencies;
    try {
      return calls.read(operation, rawQuery, headers);
    } catch (error) {
      if (!mayBePassedOn(error)) report({ name: 'answered', operation: operation.name, outcome: 'invalid' });
      throw error;
    }
  }

  /** Answers without waiting: with a stale copy from memory if there is one, otherwise with the failure. */
  #shed(call: Call, key: string, reason: RefusedReason, error: ProxyError): Answer {
    const { cache, report } = this.#dependencies;
    report({ name: 'shed', operation: call.operation.name, reason });
    return (
      this.#fallBack(call, cache.lookInMemory(key, call.tags), error, false) ?? this.#fail(call, key, error, false)
    );
  }

  /** `isCounted`: the client's limit of misses counts it, unless no request is sent after all. */
  async #join(keyed: KeyedCall, wait: Wait, { headers, requestId }: ProxyRequest, isCounted: boolean): Promise<Answer> {
    const { flights, loader, cache, missLimit, monotonic } = this.#dependencies;
    const { call, key } = keyed;
    const trace = traceOf(headers, requestId());
    const join = () => flights.join(key, wait, (flight) => loader.load(call, key, flight, true, trace));
    const joinedAt = monotonic();
    let end: FlightEnd<Load>;
    try {
      end = await join();
      // Once: 1. The flight sends its request. 2. Another answer shows a transaction. 3. This client has read that answer,
      // and joins the flight.
      if (end.collapsed && end.state === 'landed' && isOutdated(end.value, joinedAt)) end = await join();
      // The purge, or the block, may have come before this request. A new flight requests the answer after both.
      while (end.collapsed && end.state === 'landed' && mustLoadAgain(end.value, call, cache)) end = await join();
    } finally {
      wait.close();
    }
    const { collapsed, joined } = end;
    if (isCounted && !askedIndexer(end)) missLimit?.giveBack(wait.client ?? '');
    const load = end.state === 'landed' ? end.value : this.#leave(call, key, end, wait);
    const answer = this.#answerOf(keyed, load, collapsed);
    return joined === undefined ? answer : { ...answer, joined };
  }

  #answerOf(keyed: KeyedCall, load: Load, collapsed: boolean): Answer {
    const { call, key } = keyed;
    switch (load.from) {
      case 'upstream':
        return this.#answer(call, load.entry, collapsed ? 'collapsed' : 'miss', {
          fwd: load.replaced ? 'stale' : 'miss',
          fwdStatus: load.status,
          stored: load.stored === 'stored',
          collapsed,
          ...(load.stored === 'stored' ? {} : { detail: load.stored }),
        });
      case 'nowhere':
        return (
          this.#fallBack(call, load.fallback, load.error, collapsed) ?? this.#fail(call, key, load.error, collapsed)
        );
      default:
        this.#dependencies.calls.remember(keyed);
        if (load.isProven === true) return this.#proven(call, load.entry);
        if (freshnessOf(load.entry, this.#dependencies.now()) !== 'fresh') this.#dependencies.refreshStale(call, key);
        return this.#hit(call, load.entry, load.from);
    }
  }

  /** This waiter's time is over, though the flight may still be under way. */
  #leave(call: Call, key: string, end: FlightEnd<Load> & { state: 'left' }, { reason }: Wait): Load {
    const { cache, random, report } = this.#dependencies;
    let error = reason ?? failure('internal');
    if (error.code === 'upstream-timeout' && !end.departed) {
      // No request was sent: this one spent all its time in the queue.
      report({ name: 'shed', operation: call.operation.name, reason: 'deadline' });
      error = overloaded('deadline', random());
    }
    return { from: 'nowhere', error, fallback: cache.lookInMemory(key, call.tags) };
  }

  #hit(call: Call, entry: Entry, tier: 'memory' | 'redis'): Answer {
    const now = this.#dependencies.now();
    const outcome = now < entry.freshUntil ? (`hit-${tier}` as const) : 'stale';
    return this.#answer(call, entry, outcome, hitStatus(entry, tier, now));
  }

  #proven(call: Call, entry: Entry): Answer {
    return this.#answer(call, entry, 'hit-proven', PROVEN_STATUS);
  }

  #fallBack(call: Call, fallback: Lookup, error: ProxyError, collapsed: boolean): Answer | undefined {
    if (fallback.state === 'miss' || error.code === 'client-closed-request') return undefined;
    const { entry, tier } = fallback;
    const { cache, now } = this.#dependencies;
    // The entry may be proven again since the request was sent, or no longer proven since the failure arrived.
    if (cache.lookInMemory(entry.key, call.tags).state === 'proven') return this.#proven(call, entry);
    // A failure answers its key for a while (failure TTL), in which the fallback may expire or be purged.
    if (cache.isOver(entry, call.tags) || freshnessOf(entry, now()) === 'expired') return undefined;
    const ttl = ttlOf(entry.freshUntil, now());
    return this.#answer(
      call,
      entry,
      'stale',
      error.wentForward
        ? { fwd: 'stale', fwdStatus: error.details.upstreamStatus, collapsed, ttl, detail: error.code }
        : { hit: true, ttl, detail: tier },
    );
  }

  #answer(call: Call, entry: Entry, outcome: RequestOutcome, cacheStatus: CacheStatus): Answer {
    this.#dependencies.report({ name: 'answered', operation: call.operation.name, outcome });
    this.#countPoll(call, entry);
    return { kind: 'entry', key: entry.key, outcome, entry, cacheStatus };
  }

  #fail(call: Call, key: string, error: ProxyError, collapsed: boolean): Answer {
    const { report } = this.#dependencies;
    const operation = call.operation.name;
    // An operation that no indexer serves is not a failure. Neither is a parameter that no indexer accepts.
    const isMistake = CLIENT_MISTAKES.includes(error.details.upstreamStatus ?? 0);
    const counted = error.code === 'not-served' || isMistake ? 'invalid' : 'failed';
    const outcome = error.code === 'client-closed-request' ? error.code : counted;
    if (outcome === 'client-closed-request') report({ name: outcome, operation });
    else if (!mayBePassedOn(error)) {
      report({ name: 'answered', operation, outcome });
      if (outcome === 'failed') report({ name: 'failed', operation, error });
    }
    const { upstreamStatus: fwdStatus } = error.details;
    const { code: detail } = error;
    return {
      kind: 'failure',
      key,
      outcome,
      error,
      cacheStatus: error.wentForward ? { fwd: 'miss', fwdStatus, collapsed, detail } : { detail },
    };
  }
}

/** The events of hits from memory: shared, so that a hit makes no object of its own. */
const [MEMORY_HITS, PROVEN_HITS] = [hitEvents('hit-memory'), hitEvents('hit-proven')];

function hitEvents(outcome: 'hit-memory' | 'hit-proven'): Readonly<Record<OperationName, ProxyEvent>> {
  const events = OPERATION_NAMES.map((operation) => [operation, { name: 'answered', operation, outcome }]);
  return Object.fromEntries(events) as Readonly<Record<OperationName, ProxyEvent>>;
}
