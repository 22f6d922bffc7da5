import type { Outcome } from '../outcomes.ts';
import type { Ms } from '../time-units.ts';
import { type Backlog, type Grant, takeFor } from './backlog.ts';
import {
  ABANDONED,
  type EndPass,
  type EntryRequest,
  passBy,
  type Refusal,
  type RouteRequest,
  refusalOf,
} from './guard.ts';
import type { Lane } from './lane.ts';
import type { MemoryPressure } from './memory-pressure.ts';
import { guardsOf, hasSlot, type Route, type RouteChoice, rateOf, refusalBy } from './route.ts';

/** The right to send one request to the indexer. Its holder calls `free` at the end; further calls of it do nothing. */
export interface Ticket {
  /** The indexer that gets the request. */
  readonly route: Route;
  /**
   * Call right before the request is sent: checks memory and guards once more. With any result but `go`, the ticket is
   * free.
   */
  send(): Sent;
  /**
   * Reports the outcome of the request to circuit breakers, pause and health, when it is known. `retryAfterMs`: the
   * `Retry-After` of a `rate-limited` request.
   */
  learn(outcome: Outcome, retryAfterMs?: Ms): void;
  /**
   * Gives the slot back, so that the next request gets it. Call when the request has ended and, if its answer is
   * stored, after the store: the next request looks into memory then. An outcome that was not reported is `unknown`.
   */
  free(): void;
}

/** The result of a request to enter. */
export type Entered = Ticket | Refusal;

type Sent = 'go' | Refusal;

export interface AdmissionDependencies {
  readonly routes: RouteChoice;
  readonly backlog: Backlog;
  readonly memory: Pick<MemoryPressure, 'refusesLoads'>;
}

const NO_FREE_SLOT: Refusal = { reason: 'no-free-slot', retryAfterMs: 0 };
const NO_FREE_RESERVATION: Refusal = { reason: 'rate-limit', retryAfterMs: 0 };

/** A request waits in the backlog: in its own lane, or in the lane of the backups. */
interface Waits {
  readonly waitsIn: Lane;
}

/**
 * The one door to the indexers, for operations and for passed-through requests. A request gets a ticket or a refusal,
 * in the same tick of the event loop or after a wait:
 *
 * 1. The door checks memory, pause, circuit breaker and backlog, without taking anything.
 * 2. The request takes a slot at one of the indexers, and a reservation of its rate if the rate is limited, or waits in
 *    the backlog for both. A refresh never waits. Before a client is refused, the backups are tried.
 * 3. `ticket.send()` checks memory, pause and circuit breaker again, and takes the passes of pause and circuit breaker.
 *
 * A free slot is handed to a waiter and never released for competition: otherwise a new request could take it, and the
 * waiter would go back to the end of the queue. The same applies to the reservation of a ticket that ends unsent.
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

  /** Why a request would be refused now; takes nothing. Call before a client's body is read. */
  refusal(request: RouteRequest): Refusal | undefined {
    const decided = this.#decide(this.#dependencies.routes.elsewhere(request));
    return 'reason' in decided ? decided : undefined;
  }

  /** Gives a ticket, immediately or after a wait, or returns the refusal. Never rejects. */
  enter(given: EntryRequest): Entered | Promise<Entered> {
    const { routes, backlog } = this.#dependencies;
    const { operation, clients, sentFor } = given;
    if (sentFor.isAbandoned) return ABANDONED;
    const request = routes.elsewhere(given);
    for (const { slots } of routes.of(operation)) slots.touch(operation, clients);
    const decided = this.#decide(request);
    if ('reason' in decided) return decided;
    if ('waitsIn' in decided) {
      const waiting = backlog.wait({ ...request, lane: decided.waitsIn });
      return waiting.then((waited) => ('reason' in waited ? waited : this.#ticket(request, waited)));
    }
    const { route, client } = decided;
    const rate = rateOf(route, request);
    if (rate === undefined || rate.isHere) takeFor(request, decided);
    else {
      // A refresh does not wait, but only Redis knows whether a reservation is free.
      route.slots.take(operation, client);
      return rate.takeFree().then((hasReservation) => {
        if (hasReservation) return this.#ticket(request, decided);
        this.#release(request, decided, false);
        return { reason: 'rate-limit', retryAfterMs: rate.expectedWaitMs(0) };
      });
    }
    return this.#ticket(request, decided);
  }

  /** What a request would get now; takes nothing. */
  #decide(request: RouteRequest): Grant | Refusal | Waits {
    const { memory, routes, backlog } = this.#dependencies;
    if (memory.refusesLoads) return { reason: 'memory', retryAfterMs: 0 };
    const open = routes.openTo(request);
    if ('reason' in open) return open;
    const { operation, lane } = request;
    const [client] = request.clients;
    const withSlot = open.filter((route) => hasSlot(route, operation, client));
    const free = withSlot.filter((route) => {
      const rate = rateOf(route, request);
      return rate === undefined || (lane.waits ? rate.isHere : rate.mayBeFree);
    });
    const route = backlog.hasWaiting(request) ? undefined : routes.choose(free, request);
    if (route !== undefined) return { route, client };
    if (!lane.waits) return withSlot.length > 0 && free.length === 0 ? NO_FREE_RESERVATION : NO_FREE_SLOT;
    const waits = { waitsIn: lane };
    // Waiters get free slots first, and this request gets those that no waiter may have.
    if (free.length > 0) return waits;
    const refusal = backlog.refusal(request);
    if (refusal === undefined) return waits;
    backlog.refused(request);
    const toBackup = routes.overflow(request, open);
    const overflowed = toBackup === undefined ? refusal : this.#decide(toBackup);
    return 'reason' in overflowed ? refusal : overflowed;
  }

  /** Why a request that has a slot would not be sent now; takes nothing. */
  #closed(request: EntryRequest, route: Route): Refusal | undefined {
    if (request.sentFor.isAbandoned) return ABANDONED;
    if (this.#dependencies.memory.refusesLoads) return { reason: 'memory', retryAfterMs: 0 };
    return refusalBy(route, request);
  }

  #ticket(request: EntryRequest, grant: Grant): Ticket {
    const { route } = grant;
    let passes: readonly EndPass[] = [];
    let wasSent = false;
    let isFree = false;
    const learn: Ticket['learn'] = (outcome, retryAfterMs) => {
      const untold = passes;
      passes = [];
      for (const endPass of untold) endPass(outcome, retryAfterMs);
    };
    const free = () => {
      if (isFree) return;
      isFree = true;
      learn('unknown');
      if (wasSent) this.#inFlight--;
      else rateOf(route, request)?.giveBack();
      this.#release(request, grant, wasSent);
    };
    const send = (): Sent => {
      const taken = this.#closed(request, route) ?? takePasses(request, route);
      if ('reason' in taken) {
        free();
        return taken;
      }
      passes = taken;
      wasSent = true;
      this.#inFlight++;
      return 'go';
    };
    return { route, send, learn, free };
  }

  #release({ operation }: EntryRequest, { route, client }: Grant, wasSent: boolean): void {
    route.slots.release(operation, wasSent, client);
    this.#dependencies.backlog.handOut();
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
    passes.push(request.lane.isOurs ? pass : () => pass('unknown'));
  }
  if (route.health !== undefined) passes.push(route.health.begin());
  return passes;
}
