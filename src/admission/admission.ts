import type { Routes } from '../fleet/routes.ts';
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
import { guardsOf, hasSlot, type Route, rateOf, refusalBy } from './route.ts';

/** The right to send one request to the indexer. To be freed by who has it; each call after the first does nothing. */
export interface Ticket {
  /** The indexer that it is to be sent to. */
  readonly route: Route;
  /**
   * To be called right before the request is sent: asks memory and guards once more. With any result but `go`, the ticket
   * is free.
   */
  send(): Sent;
  /**
   * Tells circuit breakers, pause and health what came of the request, when that is known. `retryAfterMs`: the time that
   * was asked for with `rate-limited`.
   */
  learn(outcome: Outcome, retryAfterMs?: Ms): void;
  /**
   * Gives the slot back, which goes to the next request: to be called when the request has ended and, if its answer is
   * stored, after that, because the next one looks into memory then. An outcome that was not told is `unknown`.
   */
  free(): void;
}

/** What came of a request to enter. */
export type Entered = Ticket | Refusal;

type Sent = 'go' | Refusal;

export interface AdmissionDependencies {
  readonly routes: Routes;
  readonly backlog: Backlog;
  readonly memory: Pick<MemoryPressure, 'refusesLoads'>;
}

const NO_FREE_SLOT: Refusal = { reason: 'no-free-slot', retryAfterMs: 0 };
const NO_FREE_TURN: Refusal = { reason: 'rate-limit', retryAfterMs: 0 };

/** A request is to wait in the backlog: in its own lane, or in the lane of the backups. */
interface Waits {
  readonly waitsIn: Lane;
}

/**
 * The one door to the indexers, for the operations and for what is passed through. A request is refused on arrival, in
 * the same tick of the event loop, or gets a ticket after a wait:
 *
 * 1. memory, pause, circuit breaker and backlog are asked, without taking anything;
 * 2. it takes a slot at one of the indexers, and a turn of its rate if that is limited, or waits in the backlog for both;
 *    a refresh never waits; before a client is refused, a backup is asked;
 * 3. `ticket.send()` asks memory, pause and circuit breaker again, and takes the passes of pause and circuit breaker.
 *
 * A slot that becomes free is handed to a waiter and never released to be competed for: otherwise a newcomer could take
 * it, and the waiter would go back to the end of the queue. So is the turn of a ticket that ends without being sent.
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
    const decided = this.#decide(this.#dependencies.routes.elsewhere(request));
    return 'reason' in decided ? decided : undefined;
  }

  /** Gives a ticket, at once or after a wait, or says why it is refused. Never rejects. */
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
      // A refresh does not wait, but only Redis knows whether a turn is free.
      route.slots.take(operation, client);
      return rate.takeFree().then((hasTurn) => {
        if (hasTurn) return this.#ticket(request, decided);
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
    if (!lane.waits) return withSlot.length > 0 && free.length === 0 ? NO_FREE_TURN : NO_FREE_SLOT;
    const waits = { waitsIn: lane };
    // What is free goes to those who wait, and if they may not have it, to this one.
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
    passes.push(pass);
  }
  if (route.health !== undefined) passes.push(route.health.begin());
  return passes;
}
