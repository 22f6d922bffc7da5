import type { MonotonicMs, Ms } from '../time-units.ts';
import { expectedWait } from './expected-wait.ts';
import { ABANDONED, type Abandonable, type EntryRequest, type Refusal, type RouteRequest } from './guard.ts';
import type { MemoryPressure } from './memory-pressure.ts';
import { hasSlot, type Route, type RouteChoice, rateOf, refusalBy } from './route.ts';
import { FIRST_TRY, type SendRules } from './send-rules.ts';
import { ShortPatience } from './short-patience.ts';
import { type Ticket, ticketFor } from './ticket.ts';
import { type WaitingQueue, WaitingQueues } from './waiting-queues.ts';

/** As many as the default of `http.maxConnections`. The patience refuses earlier, unless the indexer is very fast. */
export const MAX_WAITING = 10_000;

/** The result of a request to enter. */
export type Entered = Ticket | Refusal;

export interface AdmissionDependencies {
  readonly routes: RouteChoice;
  readonly memory: Pick<MemoryPressure, 'refusesLoads'>;
  readonly now: () => MonotonicMs;
  /** The time for which a client waits for a slot and a reservation. */
  readonly patienceMs: Ms;
  /** The same for new requests under overload. */
  readonly shortPatienceMs: Ms;
  /** The maximum number of waiting requests. */
  readonly maxWaiting: number;
}

/** A slot, and a reservation of the rate if it is limited, that a request takes. */
interface Grant {
  readonly route: Route;
  /** The client that holds the slot; absent for a refresh. */
  readonly client: string | undefined;
}

/** A request waits in the backlog: for its own rate, or for that of the backups. */
interface Waits {
  readonly waitsFor: SendRules['rate'];
}

interface Waiter {
  readonly request: EntryRequest;
  readonly queue: Queue;
  readonly end: (waited: Grant | Refusal) => void;
}

type Queue = WaitingQueue<Waiter>;

/** The next waiter of a queue, and the result of its wait. */
interface Candidate {
  readonly waiter: Waiter;
  readonly waited: Grant | Refusal;
  /** The lowest goes first. */
  readonly rank: number;
}

const NO_MEMORY: Refusal = { reason: 'memory', retryAfterMs: 0 };
const NO_FREE_SLOT: Refusal = { reason: 'no-free-slot', retryAfterMs: 0 };
const NO_FREE_RESERVATION: Refusal = { reason: 'rate-limit', retryAfterMs: 0 };

/**
 * Ranks of waiters that need a reservation: the client had none in this round, the client had one, and second tries.
 */
const [RESERVATION_DUE, RESERVATION_HAD, SECOND_TRY] = [2, 3, 4];

/**
 * If new clients keep joining a round, it ends after this part of the patience: otherwise a client's second request
 * would wait for as long as new clients come.
 */
const LONGEST_ROUND = 1 / 3;

/**
 * The one door to the indexers, for operations and for passed-through requests, with the backlog of those that wait. A
 * request gets a ticket or a refusal, in the same tick of the event loop or after a wait:
 *
 * 1. Admission checks memory, pause, circuit breaker and backlog, without taking anything.
 * 2. The request takes a slot at one of the indexers, and a reservation of its rate if the rate is limited, or waits in
 *    the backlog for both. A refresh never waits. Before a client is refused, the backups are tried.
 * 3. `ticket.send()` checks memory, pause and circuit breaker again, and takes the passes of pause and circuit breaker.
 *
 * A free slot is handed to a waiter and never released for competition: otherwise a new request could take it, and the
 * waiter would go back to the end of the queue. The same applies to the reservation of a ticket that ends unsent.
 *
 * Gives up requests that would have been answered: a wait that is expected to be too long is refused at once, by an
 * estimate that may be wrong. Gives up the order of arrival. For that a refused client learns it in a millisecond and
 * gets a `Retry-After`, nobody waits in vain for most of a timeout, and one client with a thousand requests delays the
 * others by one request each, not by a thousand.
 *
 * In the backlog each operation has a queue that is fair between clients. A new request is refused immediately, or
 * waits:
 *
 *   expected wait = requests ahead of it * slot time of the operation / slots that the operation uses
 *   or, if that is longer: time until the next reservation + requests ahead of it * 1 / rate
 *
 * A free slot goes to operations below their share first. Reservations go to clients in rounds, across operations: no
 * client gets a second one while another waiting client has had none. Otherwise operations go in rotation. The backlog
 * wants a reservation only while a slot is free for a waiter. Every third of the patience, the round of reservations
 * ends, and so do the rounds of slots that new clients have joined. A client without waiting requests is forgotten:
 * when it comes back, it is new.
 *
 * A new request is refused if its expected wait is longer than its patience, or if the backlog is full. While the slot
 * time is unknown, the expected wait for a slot counts as 0: a burst is not refused. After a refusal new requests have
 * the {@link ShortPatience}. A waiter keeps its whole patience. It gives up only if the indexer has become that much
 * slower, or if clients with a shorter wait go before it.
 */
export class Admission {
  readonly #dependencies: AdmissionDependencies;
  readonly #queues = new WaitingQueues<Waiter>();
  /** By flight: the requests of one flight wait one after the other. */
  readonly #waiters = new Map<Abandonable, Waiter>();
  /** The clients that had a reservation in this round, and wait for another one. */
  readonly #hadReservation = new Set<string>();
  #roundsEndAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  readonly #short: ShortPatience;
  #inFlight = 0;

  constructor(dependencies: AdmissionDependencies) {
    this.#dependencies = dependencies;
    this.#short = new ShortPatience(dependencies.now);
  }

  /** The number of requests that were sent and have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The number of waiting requests. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** The clients that wait for each request. */
  *waitingClients(): Generator<Iterable<string>> {
    for (const { request } of this.#waiters.values()) yield request.clients;
  }

  /** The expected wait of a new request for an operation, behind all others; 0 while it is unknown. */
  expectedWaitMs(operation: string): Ms {
    return this.#expected({ ...FIRST_TRY, operation, clients: [] }).retryAfterMs;
  }

  /** Why a request would be refused now; takes nothing. Call before a client's body is read. */
  refusal(request: RouteRequest): Refusal | undefined {
    const decided = this.#decide(this.#dependencies.routes.butNot(request));
    return 'reason' in decided ? decided : undefined;
  }

  /** Gives a ticket, immediately or after a wait, or returns the refusal. Never rejects. */
  enter(given: EntryRequest): Entered | Promise<Entered> {
    const { routes } = this.#dependencies;
    const { operation, clients, sentFor } = given;
    if (sentFor.isAbandoned) return ABANDONED;
    const request = routes.butNot(given);
    for (const { slots } of routes.of(operation)) slots.touch(operation, clients);
    const decided = this.#decide(request);
    if ('reason' in decided) return decided;
    if ('waitsFor' in decided) {
      const waiting = this.#wait({ ...request, rate: decided.waitsFor });
      return waiting.then((waited) => ('reason' in waited ? waited : this.#ticket(request, waited)));
    }
    const taken = takeFor(request, decided);
    if (taken === true) return this.#ticket(request, decided);
    // A refresh does not wait, but only Redis knows whether a reservation is free.
    return taken.then((hasReservation) => {
      if (hasReservation) return this.#ticket(request, decided);
      this.#release(request, decided, false);
      return { reason: 'rate-limit', retryAfterMs: rateOf(decided.route, request)?.expectedWaitMs(0) ?? 0 };
    });
  }

  /**
   * Another client joins a flight: the flight's request moves to the place that this client would get, if that place is
   * better. Does nothing if none of the flight's requests waits.
   */
  join(flight: Abandonable, client: string): void {
    const waiter = this.#waiters.get(flight);
    waiter?.queue.waiting.share(waiter, client);
  }

  /** What a request would get now; takes nothing. */
  #decide(request: RouteRequest): Grant | Refusal | Waits {
    const { memory, routes } = this.#dependencies;
    if (memory.refusesLoads) return NO_MEMORY;
    const open = routes.openTo(request);
    if ('reason' in open) return open;
    const { operation, waits, clients } = request;
    const [client] = clients;
    const withSlot = open.filter((route) => hasSlot(route, operation, client));
    const free = withSlot.filter((route) => {
      const rate = rateOf(route, request);
      return rate === undefined || (waits ? rate.isHere : rate.mayBeFree);
    });
    const { name, waiting } = this.#queues.of(request);
    const route = waiting.size > 0 ? undefined : routes.choose(free, request);
    if (route !== undefined) return { route, client };
    if (!waits) return withSlot.length > 0 && free.length === 0 ? NO_FREE_RESERVATION : NO_FREE_SLOT;
    // Waiters get free slots first, and this request gets those that no waiter may have.
    const refusal = free.length > 0 ? undefined : this.#tooLong(request);
    if (refusal === undefined) return { waitsFor: request.rate };
    if (waiting.size > 0) this.#short.refused(name, clients, this.#queues.haveWaiting(request));
    const toBackup = routes.overflow(request, open);
    const overflowed = toBackup === undefined ? refusal : this.#decide(toBackup);
    return 'reason' in overflowed ? refusal : overflowed;
  }

  /** Why a request may not wait. */
  #tooLong(request: RouteRequest): Refusal | undefined {
    const { patienceMs, shortPatienceMs, maxWaiting } = this.#dependencies;
    const expected = this.#expected(request);
    if (this.waiting >= maxWaiting) return { ...expected, reason: 'queue-full' };
    const isShort = this.#short.isFor(this.#queues.of(request).name, request.clients);
    return expected.retryAfterMs > (isShort ? shortPatienceMs : patienceMs) ? expected : undefined;
  }

  #expected(request: RouteRequest): Refusal {
    const { routes, patienceMs } = this.#dependencies;
    return expectedWait(request, routes, this.#queues, patienceMs);
  }

  /** Waits for a slot and a reservation, which the request may get immediately. Never rejects. */
  #wait(request: EntryRequest): Promise<Grant | Refusal> {
    const { sentFor, clients } = request;
    const { signal } = sentFor;
    const queue = this.#queues.of(request);
    const { name, waiting } = queue;
    const hadOthers = this.#queues.haveWaiting(request);
    return new Promise((resolve) => {
      const end: Waiter['end'] = (waited) => {
        clearTimeout(expiry);
        signal.removeEventListener('abort', onAbort);
        this.#waiters.delete(sentFor);
        if ('route' in waited) waiting.go(waiter);
        else waiting.remove(waiter);
        for (const client of clients) if (!this.#queues.isWaiting(client)) this.#hadReservation.delete(client);
        if (waiting.clients <= 1) this.#short.calmed(name, this.waiting === 0);
        resolve(waited);
      };
      const onAbort = () => end(ABANDONED);
      const giveUp = () => {
        this.#short.refused(name, clients, hadOthers);
        const { reason, retryAfterMs } = this.#expected(request);
        end({ reason: reason === 'rate-limit' ? reason : 'waited-too-long', retryAfterMs });
      };
      const expiry = setTimeout(giveUp, this.#dependencies.patienceMs);
      signal.addEventListener('abort', onAbort, { once: true });
      const waiter: Waiter = { request, queue, end };
      this.#waiters.set(sentFor, waiter);
      const [first = '', ...others] = clients;
      waiting.add(waiter, first);
      for (const client of others) waiting.share(waiter, client);
      this.handOut();
    });
  }

  /**
   * Hands free slots, and reservations whose time has come, to waiters. Ends the waits of requests that no indexer may
   * get now. Wants reservations while a slot, but no reservation, is free for a waiter.
   */
  readonly handOut = (): void => {
    this.#endRounds();
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#hand(next);
  };

  #hand({ waiter, waited, rank }: Candidate): void {
    const { request, queue } = waiter;
    if ('route' in waited) {
      const { route, client } = waited;
      // Its reservation is here.
      void takeFor(request, waited);
      if (rank === RESERVATION_HAD) this.#hadReservation.clear();
      if (client !== undefined && rateOf(route, request) !== undefined) this.#hadReservation.add(client);
      this.#queues.served(queue);
    }
    waiter.end(waited);
  }

  #endRounds(): void {
    const now = this.#dependencies.now();
    if (now < this.#roundsEndAt) return;
    this.#roundsEndAt = now + LONGEST_ROUND * this.#dependencies.patienceMs;
    this.#hadReservation.clear();
    for (const { waiting } of this.#queues.all) waiting.endJoinedRound();
  }

  /** The first of the candidates; among equal ranks, that of the queue that was served longest ago. */
  #next(): Candidate | undefined {
    if (this.waiting === 0) return undefined;
    let best: Candidate | undefined;
    for (const queue of this.#queues.all) {
      const candidate = this.#candidate(queue);
      if (candidate !== undefined && (best === undefined || candidate.rank < best.rank)) best = candidate;
    }
    return best;
  }

  /** The next waiter of a queue: of a client that may hold one more slot, or one whose wait is in vain. */
  #candidate(queue: Queue): Candidate | undefined {
    const { routes } = this.#dependencies;
    const { waiting, operation } = queue;
    const mayHold = (client: string) => routes.of(operation).some(({ slots }) => slots.mayHold(operation, client));
    const isDue = (client: string) => !this.#hadReservation.has(client) && mayHold(client);
    const next = waiting.next(isDue) ?? waiting.next(mayHold) ?? waiting.next();
    if (next === undefined) return undefined;
    const { member: waiter, client } = next;
    const { request } = waiter;
    const open = routes.openTo(request);
    if ('reason' in open) return { waiter, waited: open, rank: 0 };
    const withSlot = open.filter((each) => hasSlot(each, operation, client));
    const free = withSlot.filter((each) => rateOf(each, request)?.want(this.handOut, this.waiting) !== false);
    const route = routes.choose(free, request);
    return route && { waiter, waited: { route, client }, rank: this.#rank(request, { route, client }) };
  }

  #rank(request: EntryRequest, { route, client }: Grant): number {
    if (rateOf(route, request) === undefined) return route.slots.isBelowShare(request.operation) ? 0 : 1;
    if (request.isSecondTry) return SECOND_TRY;
    return this.#hadReservation.has(client ?? '') ? RESERVATION_HAD : RESERVATION_DUE;
  }

  #ticket(request: EntryRequest, grant: Grant): Ticket {
    const { route } = grant;
    return ticketFor(request, {
      route,
      refusal: () => this.#closed(request, route),
      onSent: () => this.#inFlight++,
      onFree: (wasSent) => {
        if (wasSent) this.#inFlight--;
        else rateOf(route, request)?.giveBack();
        this.#release(request, grant, wasSent);
      },
    });
  }

  /** Why a request that has a slot would not be sent now; takes nothing. */
  #closed(request: EntryRequest, route: Route): Refusal | undefined {
    if (request.sentFor.isAbandoned) return ABANDONED;
    return this.#dependencies.memory.refusesLoads ? NO_MEMORY : refusalBy(route, request);
  }

  #release({ operation }: EntryRequest, { route, client }: Grant, wasSent: boolean): void {
    route.slots.release(operation, wasSent, client);
    this.handOut();
  }
}

/** Takes a slot, and a reservation if the request needs one: `false` if none was free after all. */
function takeFor(request: RouteRequest, { route, client }: Grant): true | Promise<boolean> {
  route.slots.take(request.operation, client);
  return rateOf(route, request)?.take() ?? true;
}
