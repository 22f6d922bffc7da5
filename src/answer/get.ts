import type { MemoryPressure } from '../admission/memory-pressure.ts';
import type { Entry } from '../cache/entry.ts';
import type { Gzip, SentBody } from '../cache/gzip.ts';
import type { Lookup, TieredCache } from '../cache/tiered-cache.ts';
import type { PerClientLimit } from '../clients/per-client-limit.ts';
import { type ErrorCode, failure, mayBePassedOn, overloaded, type ProxyError } from '../errors.ts';
import type { RefusedReason } from '../failures/refusals.ts';
import { freshnessOf } from '../freshness.ts';
import type { Flight, FlightEnd, SingleFlight } from '../once/single-flight.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import type { CallMemo, KeyedCall } from '../ton/call-memo.ts';
import { OPERATION_NAMES, type OperationName } from '../ton/operation-names.ts';
import { type Call, seqnoOf } from '../ton/parse-call.ts';
import type { Answer, ProxyRequest } from './answer.ts';
import type { PollCount } from './block-proof.ts';
import type { FinishedRequest } from './finished-request.ts';
import { askedIndexer, isOutdated, type Load, type Loader, mustLoadAgain } from './load.ts';
import { type Ended, outcomeOf, type Phase, type ProvenHit, type TierHit } from './phase.ts';
import type { LoadRefused } from './refusal-error.ts';
import { traceOf } from './request-trace.ts';
import { Wait } from './wait.ts';

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
  readonly load: Loader;
  /** The longest wait of a refresh for its ticket. */
  readonly refreshTimeoutMs: Ms;
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
  readonly report: (event: FinishedRequest | LoadRefused) => void;
  readonly reportBug: (bug: unknown) => void;
}

/** Answers requests for cached operations, each from its parameters to its answer. */
export interface RequestHandler {
  /**
   * Answers immediately from memory, otherwise when the flight lands or the wait ends. Throws a {@link ProxyError}
   * `invalid-request` or `not-cacheable`; every other expected failure is an {@link Answer}.
   */
  readonly handle: (request: ProxyRequest) => Answer | Promise<Answer>;
  /**
   * Finds the fresh or proven entry in memory for a spelling (`operation?query`, unchanged, without headers that change
   * the answer), if the spelling was a hit before and the body for this client is ready. `undefined` does not mean a
   * miss: {@link handle} decides then.
   */
  readonly findHit: (spelling: string, acceptsGzip: boolean) => MemoryHit | undefined;
  /** Call for each hit that is sent. A hit that is not sent is counted when `handle` answers it. */
  readonly countHit: (hit: MemoryHit) => void;
}

/** Builds the {@link RequestHandler}. */
export function requestHandlerWith(dependencies: RequestHandlerDependencies): RequestHandler {
  const { calls, gzip, cache, flights, load, refreshTimeoutMs, missLimit, memory, onTouch } = dependencies;
  const { demand, now, monotonic, random, report, reportBug } = dependencies;

  return { handle, findHit, countHit };

  function handle(request: ProxyRequest): Answer | Promise<Answer> {
    const keyed = read(request);
    const { call, key } = keyed;
    onTouch(key);
    const found = cache.lookInMemory(key, call.tags);
    if (found.state !== 'fresh') memory.makeRoomIfFull();
    if (found.state === 'miss' || found.state === 'stale-if-error') return miss(keyed, request);
    calls.remember(keyed);
    if (found.state === 'stale-while-revalidate') refresh(keyed);
    const { entry } = found;
    return end(
      keyed,
      request,
      found.state === 'proven' ? { kind: 'proven', entry } : { kind: 'hit', entry, tier: 'memory' },
    );
  }

  function findHit(spelling: string, acceptsGzip: boolean): MemoryHit | undefined {
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

  function countHit({ call, key, kind, entry }: MemoryHit): void {
    onTouch(key);
    countPoll(call, entry, kind === 'proven');
    report((kind === 'proven' ? PROVEN_HITS : MEMORY_HITS)[call.operation.name]);
  }

  function read({ operation, rawQuery, headers, body }: ProxyRequest): KeyedCall {
    try {
      return calls.read(operation, rawQuery, headers, body);
    } catch (error) {
      if (!mayBePassedOn(error)) report({ name: 'answered', operation: operation.name, outcome: 'invalid' });
      throw error;
    }
  }

  /** Follows the flight of the key, or begins one if the limit of the client allows it. */
  function miss(keyed: KeyedCall, request: ProxyRequest): Answer | Promise<Answer> {
    const follows = flights.hasFlightToFollow(keyed.key);
    if (memory.isFull && follows) return refused(keyed, request, 'memory', overloaded('memory', random()));
    const wait = request.openWait();
    const limited = follows ? undefined : missLimit?.take(wait.client ?? '');
    if (limited === undefined) return follow(keyed, wait, request, !follows);
    wait.close();
    return refused(keyed, request, 'client-limit', limited);
  }

  /** `isCounted`: the client's limit of misses counts it, unless no request is sent after all. */
  async function follow(keyed: KeyedCall, wait: Wait, request: ProxyRequest, isCounted: boolean): Promise<Answer> {
    const { call, key } = keyed;
    const trace = traceOf(request.headers, request.requestId());
    const begin = (flight: Flight) => load(call, key, flight, true, trace);
    const join = () => flights.join(key, wait, begin, call.operation.joinedForMs);
    const joinedAt = monotonic();
    let waited: FlightEnd<Load>;
    try {
      waited = await join();
      // Once: 1. The flight sends its request. 2. Another answer shows a transaction. 3. This client has read that answer,
      // and joins the flight.
      if (waited.collapsed && waited.state === 'landed' && isOutdated(waited.value, joinedAt)) waited = await join();
      // The purge, or the block, may have come before this request. A new flight requests the answer after both.
      while (waited.collapsed && waited.state === 'landed' && mustLoadAgain(waited.value, call, cache))
        waited = await join();
    } finally {
      wait.close();
    }
    if (isCounted && !askedIndexer(waited)) missLimit?.giveBack(wait.client ?? '');
    const phase = waited.state === 'landed' ? phaseOf(keyed, waited.value) : leave(call, key, waited.departed, wait);
    return end(keyed, request, phase, waited.collapsed, waited.joined);
  }

  /**
   * The background half of stale-while-revalidate (RFC 5861 3). Does nothing while the key is being loaded, and right
   * after its load has failed. A failure leaves the stale copy as it is.
   */
  function refresh({ call, key }: KeyedCall): void {
    if (flights.has(key)) return;
    const wait = new Wait(refreshTimeoutMs);
    const refreshed = flights.join(key, wait, (flight) => load(call, key, flight, false));
    refreshed.catch(reportBug).finally(() => wait.close());
  }

  /** The phase of a request whose flight has landed. */
  function phaseOf(keyed: KeyedCall, loaded: Load): Phase {
    if (loaded.kind === 'failed') return instead(keyed.call, loaded.fallback, loaded.error);
    if (loaded.kind === 'loaded') return loaded;
    calls.remember(keyed);
    if (loaded.kind === 'hit' && freshnessOf(loaded.entry, now()) !== 'fresh') refresh(keyed);
    return loaded;
  }

  /** The phase of a request whose time is over, though its flight may still be under way. */
  function leave(call: Call, key: string, departed: boolean, { reason }: Wait): Phase {
    let error = reason ?? failure('internal');
    if (error.code === 'upstream-timeout' && !departed) {
      // No request was sent: this one spent all its time in the queue.
      report({ name: 'load-refused', operation: call.operation.name, reason: 'deadline' });
      error = overloaded('deadline', random());
    }
    return instead(call, cache.lookInMemory(key, call.tags), error);
  }

  /** Answers without waiting: with a stale copy from memory if there is one, otherwise with the failure. */
  function refused(keyed: KeyedCall, request: ProxyRequest, reason: RefusedReason, error: ProxyError): Answer {
    const { call, key } = keyed;
    report({ name: 'load-refused', operation: call.operation.name, reason });
    return end(keyed, request, instead(call, cache.lookInMemory(key, call.tags), error));
  }

  /** The phase of a request without an answer: a usable copy, or else the failure. */
  function instead(call: Call, fallback: Lookup, error: ProxyError): Phase {
    const failed: Phase = { kind: 'failed', error };
    if (fallback.state === 'miss' || error.code === 'client-closed-request') return failed;
    const { entry, tier } = fallback;
    // The entry may be proven again since the request was sent, or no longer proven since the failure arrived.
    if (cache.lookInMemory(entry.key, call.tags).state === 'proven') return { kind: 'proven', entry };
    // A failure answers its key for a while (failure TTL), in which the fallback may expire or be purged.
    if (cache.isOver(entry, call.tags) || freshnessOf(entry, now()) === 'expired') return failed;
    return { kind: 'stale', entry, tier, error };
  }

  /** Reports the end of a request, and returns its answer. */
  function end(
    { call, key }: KeyedCall,
    request: ProxyRequest,
    phase: Phase,
    collapsed = false,
    joined?: string,
  ): Answer {
    const operation = call.operation.name;
    const answer: Answer = { ...phase, key, collapsed, at: now(), joined };
    const outcome = outcomeOf(answer);
    if (answer.kind !== 'failed') countPoll(call, answer.entry, answer.kind === 'proven');
    if (outcome === 'client-closed-request') report({ name: outcome, operation });
    else if (answer.kind !== 'failed' || !mayBePassedOn(answer.error)) {
      report({ name: 'answered', operation, outcome });
      if (answer.kind === 'failed' && outcome === 'failed') {
        report({ name: 'failed', operation, key, requester: request.requester(), error: answer.error });
        if (REFUSALS.includes(answer.error.code)) countRefused(call, key);
      }
    }
    return answer;
  }

  /** Counts the poll of a refused request, which a proof would have answered, for the block follower. */
  function countRefused(call: Call, key: string): void {
    if (call.operation.evidence !== undefined) demand?.refused(call, key);
  }

  /** Counts the poll for the block follower. */
  function countPoll(call: Call, entry: Entry, isProven: boolean): void {
    if (call.operation.evidence !== undefined) demand?.answered(call, entry, isProven);
    else if (call.operation.listsBlock === true) demand?.servedBlock(seqnoOf(call) ?? 0);
  }
}

/** The failures of requests that were not sent because there were too many. */
const REFUSALS: readonly ErrorCode[] = ['overloaded', 'too-many-requests'];

/** The events of hits from memory: shared, so that a hit makes no object of its own. */
const [MEMORY_HITS, PROVEN_HITS] = [hitEvents('hit-memory'), hitEvents('hit-proven')];

function hitEvents(outcome: 'hit-memory' | 'hit-proven'): Readonly<Record<OperationName, FinishedRequest>> {
  const events = OPERATION_NAMES.map((operation) => [operation, { name: 'answered', operation, outcome }]);
  return Object.fromEntries(events) as Readonly<Record<OperationName, FinishedRequest>>;
}
