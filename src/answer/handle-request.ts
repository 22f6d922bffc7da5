import type { MemoryPressure } from '../admission/memory-pressure.ts';
import type { Entry } from '../cache/entry.ts';
import type { Gzip, SentBody } from '../cache/gzip.ts';
import type { Lookup, TieredCache } from '../cache/tiered-cache.ts';
import type { PerClientLimit } from '../clients/per-client-limit.ts';
import { failure, mayBePassedOn, overloaded, type ProxyError } from '../errors.ts';
import type { RefusedReason } from '../failures/refusals.ts';
import { freshnessOf } from '../freshness.ts';
import type { FlightEnd, SingleFlight } from '../once/single-flight.ts';
import type { EpochMs, MonotonicMs } from '../time-units.ts';
import type { CallMemo, KeyedCall } from '../ton/call-memo.ts';
import { OPERATION_NAMES, type OperationName } from '../ton/operation-names.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Answer, ProxyRequest } from './answer.ts';
import type { PollCount } from './block-proof.ts';
import { askedIndexer, isOutdated, type Load, type Loader, mustLoadAgain } from './load-entry.ts';
import { type Ended, outcomeOf, type Phase, type ProvenHit, type RequestOutcome, type TierHit } from './phase.ts';
import type { RefreshStale } from './refresh-stale.ts';
import type { LoadRefused } from './refusal-error.ts';
import { traceOf } from './request-trace.ts';
import type { Wait } from './wait.ts';

/** Events of a request for a cached operation. */
export type RequestEvent =
  | { readonly name: 'answered'; readonly operation: OperationName; readonly outcome: RequestOutcome }
  /** A client disconnected before its answer: not a failure, and not in any other count of requests. */
  | { readonly name: 'client-closed-request'; readonly operation: OperationName }
  | { readonly name: 'failed'; readonly operation: OperationName; readonly error: ProxyError };

/** An entry in memory that is fresh or proven, with the body for a client. */
export type MemoryHit = Ended<TierHit | ProvenHit> & {
  readonly sent: SentBody;
  readonly call: Call;
  readonly key: string;
};

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
  readonly report: (event: RequestEvent | LoadRefused) => void;
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
      if (memory.isFull && follows) return this.#refuse(keyed, 'memory', overloaded('memory', random()));
      const wait = request.openWait();
      const limited = follows ? undefined : missLimit?.take(wait.client ?? '');
      if (limited !== undefined) {
        wait.close();
        return this.#refuse(keyed, 'client-limit', limited);
      }
      return this.#join(keyed, wait, request, !follows);
    }
    calls.remember(keyed);
    if (found.state === 'stale-while-revalidate') refreshStale(call, key);
    const { entry } = found;
    return this.#end(
      keyed,
      found.state === 'proven' ? { kind: 'proven', entry } : { kind: 'hit', entry, tier: 'memory' },
    );
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
    const { entry } = found;
    const sent = gzip.bodyFor(entry, acceptsGzip);
    if (sent instanceof Promise) return undefined;
    const { call, key } = keyed;
    return found.state === 'proven'
      ? { kind: 'proven', entry, sent, call, key, at, collapsed: false }
      : { kind: 'hit', entry, tier: 'memory', sent, call, key, at, collapsed: false };
  }

  /** Call for each hit that is sent. A hit that is not sent is counted when `handle` answers it. */
  countHit({ call, key, kind, entry }: MemoryHit): void {
    this.#dependencies.onTouch(key);
    this.#countPoll(call, entry);
    this.#dependencies.report((kind === 'proven' ? PROVEN_HITS : MEMORY_HITS)[call.operation.name]);
  }

  /** Counts the poll for the block follower. */
  #countPoll({ operation, request }: Call, entry: Entry): void {
    const { demand } = this.#dependencies;
    if (demand === undefined) return;
    if (operation.evidence !== undefined)
      demand.answered(entry.key, entry.etag, operation.touchedBy?.(request) !== undefined);
    else if (operation.listsBlock === true) demand.servedBlock(operation.masterchainSeqno?.(request) ?? 0);
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
  #refuse(keyed: KeyedCall, reason: RefusedReason, error: ProxyError): Answer {
    const { cache, report } = this.#dependencies;
    const { call, key } = keyed;
    report({ name: 'load-refused', operation: call.operation.name, reason });
    return this.#end(keyed, this.#instead(call, cache.lookInMemory(key, call.tags), error));
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
    const phase = end.state === 'landed' ? this.#phaseOf(keyed, end.value) : this.#leave(call, key, end, wait);
    return this.#end(keyed, phase, collapsed, joined);
  }

  /** The phase of a request whose flight has landed. */
  #phaseOf(keyed: KeyedCall, load: Load): Phase {
    const { call, key } = keyed;
    if (load.kind === 'failed') return this.#instead(call, load.fallback, load.error);
    if (load.kind === 'loaded') return load;
    const { calls, refreshStale, now } = this.#dependencies;
    calls.remember(keyed);
    if (load.kind === 'hit' && freshnessOf(load.entry, now()) !== 'fresh') refreshStale(call, key);
    return load;
  }

  /** This waiter's time is over, though the flight may still be under way. */
  #leave(call: Call, key: string, end: FlightEnd<Load> & { state: 'left' }, { reason }: Wait): Phase {
    const { cache, random, report } = this.#dependencies;
    let error = reason ?? failure('internal');
    if (error.code === 'upstream-timeout' && !end.departed) {
      // No request was sent: this one spent all its time in the queue.
      report({ name: 'load-refused', operation: call.operation.name, reason: 'deadline' });
      error = overloaded('deadline', random());
    }
    return this.#instead(call, cache.lookInMemory(key, call.tags), error);
  }

  /** The phase of a request without an answer: a usable copy, or else the failure. */
  #instead(call: Call, fallback: Lookup, error: ProxyError): Phase {
    const failed: Phase = { kind: 'failed', error };
    if (fallback.state === 'miss' || error.code === 'client-closed-request') return failed;
    const { entry, tier } = fallback;
    const { cache, now } = this.#dependencies;
    // The entry may be proven again since the request was sent, or no longer proven since the failure arrived.
    if (cache.lookInMemory(entry.key, call.tags).state === 'proven') return { kind: 'proven', entry };
    // A failure answers its key for a while (failure TTL), in which the fallback may expire or be purged.
    if (cache.isOver(entry, call.tags) || freshnessOf(entry, now()) === 'expired') return failed;
    return { kind: 'stale', entry, tier, error };
  }

  /** Reports the end of a request, and returns its answer. */
  #end({ call, key }: KeyedCall, phase: Phase, collapsed = false, joined?: string): Answer {
    const { report, now } = this.#dependencies;
    const operation = call.operation.name;
    const answer: Answer = { ...phase, key, collapsed, at: now(), joined };
    const outcome = outcomeOf(answer);
    if (outcome === 'client-closed-request') report({ name: outcome, operation });
    else if (answer.kind !== 'failed' || !mayBePassedOn(answer.error)) report({ name: 'answered', operation, outcome });
    if (answer.kind !== 'failed') this.#countPoll(call, answer.entry);
    else if (outcome === 'failed' && !mayBePassedOn(answer.error))
      report({ name: 'failed', operation, error: answer.error });
    return answer;
  }
}

/** The events of hits from memory: shared, so that a hit makes no object of its own. */
const [MEMORY_HITS, PROVEN_HITS] = [hitEvents('hit-memory'), hitEvents('hit-proven')];

function hitEvents(outcome: 'hit-memory' | 'hit-proven'): Readonly<Record<OperationName, RequestEvent>> {
  const events = OPERATION_NAMES.map((operation) => [operation, { name: 'answered', operation, outcome }]);
  return Object.fromEntries(events) as Readonly<Record<OperationName, RequestEvent>>;
}
