import type { Routes } from '../fleet/routes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { ABANDONED, type Abandonable, type EntryRequest, type Refusal, type RouteRequest } from './guard.ts';
import { FIRST_TRY } from './lane.ts';
import { hasSlot, type Route, rateOf, slotWaitMs, turnWaitMs } from './route.ts';
import { ShortPatience } from './short-patience.ts';
import { type WaitingQueue, WaitingQueues } from './waiting-queues.ts';

export interface BacklogDependencies {
  readonly now: () => MonotonicMs;
  readonly routes: Routes;
  /** How long a client waits for a slot and a turn. */
  readonly patienceMs: Ms;
  /** The same for newcomers under overload. */
  readonly shortPatienceMs: Ms;
  /** The most requests that may wait. */
  readonly maxWaiting: number;
}

/** A slot, and a turn of the rate where there is one, that were taken for a request. */
export interface Grant {
  readonly route: Route;
  /** Whose slot it is; nobody's for a refresh. */
  readonly client: string | undefined;
}

/** How a wait ended. */
type Waited = Grant | Refusal;

interface Waiter {
  readonly request: EntryRequest;
  readonly queue: Queue;
  readonly end: (waited: Waited) => void;
}

type Queue = WaitingQueue<Waiter>;

/** Who goes next of a queue, and how its wait ends. */
interface Candidate {
  readonly waiter: Waiter;
  readonly waited: Waited;
  /** The lowest goes first. */
  readonly rank: number;
}

/** Of those that need a turn of a rate: whose client had none in this round, whose client had one, and second tries. */
const [TURN_DUE, TURN_HAD, SECOND_TRY] = [2, 3, 4];

/**
 * A round ends after this part of the patience if new clients keep joining it: else a client's second request would wait as
 * long as they come.
 */
const LONGEST_ROUND = 1 / 3;

/**
 * The requests that wait for a slot, and for a turn where the rate is limited: for each operation a queue that is fair
 * between clients. A newcomer is refused on arrival, or waits:
 *
 *   expected wait = those that would go before it * slot time of the operation / slots that the operation uses
 *   or, if that is longer: time until the next turn of the rate + those that would go before it * 1 / rate
 *
 * A free slot goes to operations below their share first. A turn goes to clients in rounds, whatever operation they ask
 * for: no client has a second one while another that waits has had none. Otherwise operations go in rotation. The rate is
 * asked for a turn only while somebody waits who has a slot. The rounds of slots and of turns end at the latest together,
 * after a third of the patience. A client without waiting requests is forgotten: when it comes back, it is new.
 *
 * A newcomer is refused when its expected wait is longer than its patience, or the backlog is full. While the slot time
 * is not known, no expected wait is too long: a burst is not refused. After a refusal newcomers have the
 * {@link ShortPatience}. A waiter keeps its whole patience, and gives up only if the indexer has become that much slower,
 * or if clients that wait for less go before it.
 */
export class Backlog {
  readonly #dependencies: BacklogDependencies;
  readonly #queues = new WaitingQueues<Waiter>();
  /** By what waits: the requests of one flight wait one after the other. */
  readonly #waiters = new Map<Abandonable, Waiter>();
  /** The clients that have had a turn of the rate in this round, and wait for another one. */
  readonly #hadTurn = new Set<string>();
  #roundsEndAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  readonly #short: ShortPatience;

  constructor(dependencies: BacklogDependencies) {
    this.#dependencies = dependencies;
    this.#short = new ShortPatience(dependencies.now);
  }

  /** Requests that wait now. */
  get size(): number {
    return this.#waiters.size;
  }

  /** Whom each of the requests waits for. */
  *clients(): Generator<Iterable<string>> {
    for (const { request } of this.#waiters.values()) yield request.clients;
  }

  /** Whether requests wait in the queue of this one. */
  hasWaiting(request: RouteRequest): boolean {
    return this.#queues.of(request).waiting.size > 0;
  }

  /** How long a request for an operation that comes now would wait behind all others. 0 while that is not known. */
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

  /** To be called when a request is refused. */
  refused(request: RouteRequest): void {
    const { name, waiting } = this.#queues.of(request);
    if (waiting.size > 0) this.#short.refused(name, request.clients, this.#queues.haveWaiting(request));
  }

  /** Waits for a slot and a turn, which the request may get at once. Never rejects. */
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
        this.#forgetTurns(request);
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
   * Another client joins a flight: its request takes the better one of their places. Nothing where no request of it waits.
   */
  join(flight: Abandonable, client: string): void {
    const waiter = this.#waiters.get(flight);
    waiter?.queue.waiting.share(waiter, client);
  }

  /**
   * Hands free slots, and turns that are here, to those who wait, ends the waits of those that no indexer may be sent now,
   * and asks for turns while anybody waits who has only a slot.
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
      if (rank === TURN_HAD) this.#hadTurn.clear();
      if (client !== undefined && rateOf(route, request) !== undefined) this.#hadTurn.add(client);
      this.#queues.served(queue);
    }
    waiter.end(waited);
  }

  #endRounds(): void {
    const now = this.#dependencies.now();
    if (now < this.#roundsEndAt) return;
    this.#roundsEndAt = now + LONGEST_ROUND * this.#dependencies.patienceMs;
    this.#hadTurn.clear();
    for (const { waiting } of this.#queues.all) waiting.endJoinedRound();
  }

  /** Forgets the turns of the clients of a request that has gone or left, unless others of theirs wait. */
  #forgetTurns({ clients }: EntryRequest): void {
    for (const client of clients) if (!this.#queues.isWaiting(client)) this.#hadTurn.delete(client);
  }

  /** The first of the candidates, of those with the same rank that of the queue that was served longest ago. */
  #next(): Candidate | undefined {
    if (this.size === 0) return undefined;
    let best: Candidate | undefined;
    for (const queue of this.#queues.all) {
      const candidate = this.#candidate(queue);
      if (candidate !== undefined && (best === undefined || candidate.rank < best.rank)) best = candidate;
    }
    return best;
  }

  /** Who of a queue is to go next: of clients that may hold one more slot, or one whose wait is in vain. */
  #candidate(queue: Queue): Candidate | undefined {
    const { routes } = this.#dependencies;
    const { waiting, operation } = queue;
    const mayHold = (client: string) => routes.of(operation).some(({ slots }) => slots.mayHold(operation, client));
    const isDue = (client: string) => !this.#hadTurn.has(client) && mayHold(client);
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
    return this.#hadTurn.has(client ?? '') ? TURN_HAD : TURN_DUE;
  }

  /** How long a request that comes now would wait, and for what. */
  #expected(request: RouteRequest): Refusal {
    const { routes, patienceMs } = this.#dependencies;
    const open = routes.openTo(request);
    const all = 'reason' in open ? [] : open;
    const [client] = request.clients;
    const ahead = this.#queues.ahead(request);
    const isFree = ahead === 0 || all.some((route) => hasSlot(route, request.operation, client));
    // Those ahead of it give up after their patience.
    const slotMs = isFree ? 0 : Math.min(slotWaitMs(all, request, ahead) ?? 0, 2 * patienceMs);
    const turnMs = turnWaitMs(all, request, () => this.#queues.aheadForTurn(request));
    if (turnMs > slotMs) return { reason: 'rate-limit', retryAfterMs: turnMs };
    return { reason: 'expected-wait', retryAfterMs: slotMs };
  }
}

/** Takes a slot, and a turn of the rate where it needs one, for a request. */
export function takeFor(request: RouteRequest, { route, client }: Grant): void {
  route.slots.take(request.operation, client);
  rateOf(route, request)?.take();
}
