import type { Outcome } from '../outcomes.ts';
import type { Ms } from '../time-units.ts';
import type { Backlog } from './backlog.ts';
import {
  ABANDONED,
  type EndPass,
  type EntryRequest,
  passBy,
  type Refusal,
  type RouteRequest,
  refusalOf,
} from './guard.ts';
import type { MemoryGuard } from './memory-guard.ts';
import type { RateLimit } from './rate-limit.ts';
import { guardsOf, type Route, type Routes, refusalBy } from './routes.ts';

/** The right to send one request to the indexer. To be ended exactly once; a second end does nothing. */
export interface Ticket {
  /** The indexer that it is to be sent to. */
  readonly route: Route;
  /**
   * To be awaited right before the request is sent: asks memory and guards once more, after waiting for the rate
   * limit if there is one. With any result but `go`, the ticket has ended. Never rejects.
   */
  send(): Sent | Promise<Sent>;
  /** `retryAfterMs`: the time that was asked for with `rate-limited`. */
  end(outcome: Outcome, retryAfterMs?: Ms): void;
}

/** What came of a request to enter. */
export type Entered = Ticket | Refusal;

type Sent = 'go' | Refusal;

export interface AdmissionDependencies {
  readonly routes: Routes;
  readonly backlog: Backlog;
  readonly memory: Pick<MemoryGuard, 'refusesLoads'>;
  /** A request that would wait longer than this for the rate limit is refused. */
  readonly patienceMs: Ms;
}

/**
 * The one door to the indexers. A request is refused on arrival, in the same turn of the event loop, or gets a ticket
 * when it is its turn:
 *
 * 1. memory, pause, circuit breaker, rate limit and backlog are asked, without taking anything;
 * 2. it takes a slot at one of the indexers, or waits in the backlog for one; a refresh never waits, for a slot or for the
 *    rate limit; before a client is refused, a backup is asked;
 * 3. `ticket.send()` asks memory, pause and circuit breaker again, waits for its turn in the rate limit, and takes the
 *    passes of pause and circuit breaker.
 *
 * A slot that becomes free is handed to a waiter and never released to be competed for: otherwise a newcomer could take
 * it, and the waiter would go back to the end of the queue.
 */
export class Admission {
  /** The requests that wait for a slot. */
  readonly backlog: Backlog;
  readonly #dependencies: AdmissionDependencies;
  #inFlight = 0;

  constructor(dependencies: AdmissionDependencies) {
    this.#dependencies = dependencies;
    this.backlog = dependencies.backlog;
  }

  /** The number of requests that were sent and have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Why a request would be refused if it came now; takes nothing. To be called before a client's body is read. */
  refusal(request: RouteRequest): Refusal | undefined {
    const decided = this.#decide(request);
    return decided !== 'wait' && 'reason' in decided ? decided : undefined;
  }

  /** Gives a ticket, at once or when a slot becomes free, or says why it is refused. Never rejects. */
  enter(request: EntryRequest): Entered | Promise<Entered> {
    const { routes, backlog } = this.#dependencies;
    const { operation, sentFor } = request;
    if (sentFor.isAbandoned) return ABANDONED;
    for (const { slots } of routes.all) slots.asked(operation);
    const decided = this.#decide(request);
    if (decided === 'wait') {
      return backlog.wait(request).then((waited) => ('reason' in waited ? waited : this.#ticket(request, waited)));
    }
    if ('reason' in decided) return decided;
    decided.slots.take(operation);
    return this.#ticket(request, decided);
  }

  /** The indexer that a request would be sent to now, or why it would not be sent. */
  #decide(request: RouteRequest): Route | Refusal | 'wait' {
    const { memory, routes, backlog } = this.#dependencies;
    if (memory.refusesLoads) return { reason: 'memory', retryAfterMs: 0 };
    const open = routes.openTo(request);
    if ('reason' in open) return open;
    const rateWaitMs = Math.min(...open.map((route) => rateFor(route, request)?.expectedWaitMs(backlog.size) ?? 0));
    if (rateWaitMs > this.#ratePatienceMs(request)) {
      return routes.chooseBackup(request) ?? { reason: 'rate-limit', retryAfterMs: rateWaitMs };
    }
    const free = backlog.hasWaiting(request) ? undefined : routes.choose(open, request);
    if (free !== undefined) return free;
    if (request.neverWaits === true) return { reason: 'no-free-slot', retryAfterMs: 0 };
    const refusal = backlog.refuse(request);
    return refusal === undefined ? 'wait' : (routes.chooseBackup(request) ?? refusal);
  }

  /** Why a request that has a slot would not be sent now; takes nothing. */
  #closed(request: EntryRequest, route: Route): Refusal | undefined {
    if (request.sentFor.isAbandoned) return ABANDONED;
    if (this.#dependencies.memory.refusesLoads) return { reason: 'memory', retryAfterMs: 0 };
    return refusalBy(route, request);
  }

  #ticket(request: EntryRequest, route: Route): Ticket {
    const { backlog } = this.#dependencies;
    let passes: readonly EndPass[] | undefined;
    let hasEnded = false;
    const end: Ticket['end'] = (outcome, retryAfterMs) => {
      if (hasEnded) return;
      hasEnded = true;
      for (const endPass of passes ?? []) endPass(outcome, retryAfterMs);
      if (passes !== undefined) this.#inFlight--;
      route.slots.release(request.operation, passes !== undefined);
      backlog.handOut();
    };
    const begin = (go: Sent): Sent => {
      const taken = go === 'go' ? takePasses(request, route) : go;
      if ('reason' in taken) {
        end('unknown');
        return taken;
      }
      passes = taken;
      this.#inFlight++;
      return 'go';
    };
    const send = (): Sent | Promise<Sent> => {
      const rate = rateFor(route, request);
      const refusal = this.#closed(request, route);
      if (refusal !== undefined || rate === undefined) return begin(refusal ?? 'go');
      return rate.take(this.#ratePatienceMs(request), request.sentFor).then(begin);
    };
    return { route, send, end };
  }

  /** A refresh gets only what misses leave of the rate. */
  #ratePatienceMs({ neverWaits }: RouteRequest): Ms {
    return neverWaits === true ? 0 : this.#dependencies.patienceMs;
  }
}

function takePasses(request: EntryRequest, route: Route): readonly EndPass[] | Refusal {
  const passes: EndPass[] = [];
  for (const guard of guardsOf(route, request)) {
    const pass = passBy(guard, request.key);
    if (pass === undefined) {
      for (const endPass of passes) endPass('unknown');
      return refusalOf(guard);
    }
    passes.push(pass);
  }
  if (route.health !== undefined) passes.push(route.health.begin());
  return passes;
}

/** A request with the client's own API key has a rate of its own. */
function rateFor({ rate }: Route, { withClientKey }: RouteRequest): RateLimit | undefined {
  return withClientKey === true ? undefined : rate;
}
