import type { MonotonicMs, Ms } from '../time-units.ts';
import { ABANDONED, type Abandonable, type EntryRequest, type Refusal, type RouteRequest } from './guard.ts';
import { FIRST_TRY } from './lane.ts';
import { hasSlot, type Route, type RouteChoice, rateOf, reservationWaitMs, slotWaitMs } from './route.ts';
import { ShortPatience } from './short-patience.ts';
import { type WaitingQueue, WaitingQueues } from './waiting-queues.ts';

/** As many as the default of `http.maxConnections`. The patience refuses earlier, unless the indexer is very fast. */
export const MAX_WAITING = 10_000;

export interface BacklogDependencies {
  readonly now: () => MonotonicMs;
  readonly routes: RouteChoice;
  /** The time for which a client waits for a slot and a reservation. */
  readonly patienceMs: Ms;
  /** The same for new requests under overload. */
  readonly shortPatienceMs: Ms;
  /** The maximum number of waiting requests. */
  readonly maxWaiting: number;
}

/** A slot, and a reservation of the rate if it is limited, that a request has taken. */
export interface Grant {
  readonly route: Route;
  /** The client that holds the slot; absent for a refresh. */
  readonly client: string | undefined;
}

type Waited = Grant | Refusal;

interface Waiter {
  readonly request: EntryRequest;
  readonly queue: Queue;
  readonly end: (waited: Waited) => void;
}

type Queue = WaitingQueue<Waiter>;

/** The next waiter of a queue, and the result of its wait. */
interface Candidate {
  readonly waiter: Waiter;
  readonly waited: Waited;
  /** The lowest goes first. */
  readonly rank: number;
}

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
 * Gives up requests that would have been answered: a wait that is expected to be too long is refused at once, by an
 * estimate that may be wrong. Gives up the order of arrival. For that a refused client learns it in a millisecond and
 * gets a `Retry-After`, nobody waits in vain for most of a timeout, and one client with a thousand requests delays the
 * others by one request each, not by a thousand.
 *
 * The requests that wait for a slot, and for a reservation if the rate is limited. Each operation has a queue that is
 * fair between clients. A new request is refused immediately, or waits:
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
export class Backlog {
  readonly #dependencies: BacklogDependencies;
  readonly #queues = new WaitingQueues<Waiter>();
  /** By flight: the requests of one flight wait one after the other. */
  readonly #waiters = new Map<Abandonable, Waiter>();
  /** The clients that had a reservation in this round, and wait for another one. */
  readonly #hadReservation = new Set<string>();
  #roundsEndAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  readonly #short: ShortPatience;

  constructor(dependencies: BacklogDependencies) {
    this.#dependencies = dependencies;
    this.#short = new ShortPatience(dependencies.now);
  }

  /** The number of waiting requests. */
  get size(): number {
    return this.#waiters.size;
  }

  /** The clients that wait for each request. */
  *clients(): Generator<Iterable<string>> {
    for (const { request } of this.#waiters.values()) yield request.clients;
  }

  /** True if requests wait in the same queue as this one. */
  hasWaiting(request: RouteRequest): boolean {
    return this.#queues.of(request).waiting.size > 0;
  }

  /** The expected wait of a new request for an operation, behind all others; 0 while it is unknown. */
  expectedWaitMs(operation: string): Ms {
    return this.#expected({ operation, clients: [], lane: FIRST_TRY }).retryAfterMs;
  }

  /** Why a request would be refused now. */
  refusal(request: RouteRequest): Refusal | undefined {
    const { patienceMs, shortPatienceMs, maxWaiting } = this.#dependencies;
    const expected = this.#expected(request);
    if (this.size >= maxWaiting) return { ...expected, reason: 'queue-full' };
    const isShort = this.#short.isFor(this.#queues.of(request).name, request.clients);
    return expected.retryAfterMs > (isShort ? shortPatienceMs : patienceMs) ? expected : undefined;
  }

  /** Call when a request is refused. */
  refused(request: RouteRequest): void {
    const { name, waiting } = this.#queues.of(request);
    if (waiting.size > 0) this.#short.refused(name, request.clients, this.#queues.haveWaiting(request));
  }

  /** Waits for a slot and a reservation, which the request may get immediately. Never rejects. */
  wait(request: EntryRequest): Promise<Waited> {
    const { sentFor } = request;
    const { signal } = sentFor;
    const queue = this.#queues.of(request);
    const { name, waiting } = queue;
    const hadOthers = this.#queues.haveWaiting(request);
    return new Promise((resolve) => {
      const end = (waited: Waited) => {
        clearTimeout(expiry);
        signal.removeEventListener('abort', onAbort);
        this.#waiters.delete(sentFor);
        if ('route' in waited) waiting.go(waiter);
        else waiting.remove(waiter);
        this.#forgetReservations(request);
        if (waiting.clients <= 1) this.#short.calmed(name, this.size === 0);
        resolve(waited);
      };
      const onAbort = () => end(ABANDONED);
      const giveUp = () => {
        this.#short.refused(name, request.clients, hadOthers);
        const { reason, retryAfterMs } = this.#expected(request);
        end({ reason: reason === 'rate-limit' ? reason : 'waited-too-long', retryAfterMs });
      };
      const expiry = setTimeout(giveUp, this.#dependencies.patienceMs);
      signal.addEventListener('abort', onAbort, { once: true });
      const waiter: Waiter = { request, queue, end };
      this.#waiters.set(sentFor, waiter);
      const [first = '', ...others] = request.clients;
      waiting.add(waiter, first);
      for (const client of others) waiting.share(waiter, client);
      this.handOut();
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
      takeFor(request, waited);
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

  /**
   * Forgets the reservations of the clients of a request that has gone or left, unless they have other waiting
   * requests.
   */
  #forgetReservations({ clients }: EntryRequest): void {
    for (const client of clients) if (!this.#queues.isWaiting(client)) this.#hadReservation.delete(client);
  }

  /** The first of the candidates; among equal ranks, that of the queue that was served longest ago. */
  #next(): Candidate | undefined {
    if (this.size === 0) return undefined;
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
    const free = withSlot.filter((each) => rateOf(each, request)?.want(this.handOut, this.size) !== false);
    const route = routes.choose(free, request);
    return route && { waiter, waited: { route, client }, rank: this.#rank(request, { route, client }) };
  }

  #rank(request: EntryRequest, { route, client }: Grant): number {
    if (rateOf(route, request) === undefined) return route.slots.isBelowShare(request.operation) ? 0 : 1;
    if (request.lane.isSecondTry) return SECOND_TRY;
    return this.#hadReservation.has(client ?? '') ? RESERVATION_HAD : RESERVATION_DUE;
  }

  /** The expected wait of a new request, and its reason. */
  #expected(request: RouteRequest): Refusal {
    const { routes, patienceMs } = this.#dependencies;
    const open = routes.openTo(request);
    const all = 'reason' in open ? [] : open;
    const [client] = request.clients;
    const ahead = this.#queues.ahead(request);
    const isFree = ahead === 0 || all.some((route) => hasSlot(route, request.operation, client));
    // Waiters ahead of it give up after their patience.
    const slotMs = isFree ? 0 : Math.min(slotWaitMs(all, request, ahead) ?? 0, 2 * patienceMs);
    const reservationMs = reservationWaitMs(all, request, () => this.#queues.aheadForReservation(request));
    if (reservationMs > slotMs) return { reason: 'rate-limit', retryAfterMs: reservationMs };
    return { reason: 'expected-wait', retryAfterMs: slotMs };
  }
}

/** Takes a slot, and a reservation if the request needs one. */
export function takeFor(request: RouteRequest, { route, client }: Grant): void {
  route.slots.take(request.operation, client);
  rateOf(route, request)?.take();
}
