import type { Ms } from '../time-units.ts';
import { FairQueue } from './fair-queue.ts';
import { ABANDONED, type EntryRequest, type Refusal, type RouteRequest } from './guard.ts';
import type { Route, Routes } from './routes.ts';

export interface BacklogDependencies {
  readonly routes: Routes;
  /** How long a client waits for a slot. */
  readonly patienceMs: Ms;
  /** The same for newcomers under overload. */
  readonly shortPatienceMs: Ms;
  /** The most requests that may wait. */
  readonly maxWaiting: number;
}

/** How a wait ended: with a slot of this indexer that was taken for the request, or without. */
type Waited = Route | Refusal;

interface Waiter {
  /** The number of its arrival, to compare waiters of different operations. */
  readonly order: number;
  readonly end: (waited: Waited) => void;
}

/** Waiting requests of one operation. */
interface Queue {
  readonly waiting: FairQueue<EntryRequest>;
  /** Whether a request was refused or gave up since the queue was last empty. */
  overloaded: boolean;
}

/**
 * The requests that wait for a slot: for each operation a queue that is fair between clients. A newcomer is refused on
 * arrival, or waits for its turn:
 *
 *   expected wait = those that would go before it * slot time of the operation / slots that the operation uses
 *
 * A newcomer is refused when its expected wait is longer than its patience, or the backlog is full. While the slot time
 * is not known, no expected wait is too long: a burst is not refused. From the first refusal until the queue is empty,
 * newcomers have the short patience: under overload the backlog shrinks to what keeps the indexer busy, and latency
 * falls while goodput stays. A waiter keeps its whole patience, and gives up only if the indexer has become that much
 * slower, or if clients that wait for less go before it.
 */
export class Backlog {
  readonly #dependencies: BacklogDependencies;
  readonly #queues = new Map<string, Queue>();
  readonly #waiters = new Map<EntryRequest, Waiter>();
  #arrivals = 0;

  constructor(dependencies: BacklogDependencies) {
    this.#dependencies = dependencies;
  }

  /** Requests that wait now. */
  get size(): number {
    return this.#waiters.size;
  }

  /** Whom each of the requests waits for. */
  *clients(): Generator<Iterable<string>> {
    for (const { clients } of this.#waiters.keys()) yield clients;
  }

  /** Whether requests wait now that would go before this one. */
  hasWaiting(request: RouteRequest): boolean {
    return this.#queue(request).waiting.size > 0;
  }

  /**
   * How long a request that comes now would wait; without clients, behind all others. At most twice the patience, because
   * those ahead of it give up before. 0 while it is not known.
   */
  expectedWaitMs(request: RouteRequest): Ms {
    const { waiting } = this.#queue(request);
    const ahead = Math.min(waiting.size, ...[...request.clients].map((client) => waiting.ahead(client)));
    const waitMs = ahead === 0 ? 0 : (this.#dependencies.routes.waitMs(request, ahead) ?? 0);
    return Math.min(waitMs, 2 * this.#dependencies.patienceMs);
  }

  /** Why a request would be refused now. A refusal makes a queue with waiters overloaded. */
  refuse(request: RouteRequest): Refusal | undefined {
    const queue = this.#queue(request);
    const { patienceMs, shortPatienceMs, maxWaiting } = this.#dependencies;
    const retryAfterMs = this.expectedWaitMs(request);
    const isFull = this.size >= maxWaiting;
    if (!isFull && retryAfterMs <= (queue.overloaded ? shortPatienceMs : patienceMs)) return undefined;
    queue.overloaded = queue.waiting.size > 0;
    return { reason: isFull ? 'queue-full' : 'expected-wait', retryAfterMs };
  }

  /** Waits for a slot. Never rejects. */
  wait(request: EntryRequest): Promise<Waited> {
    const { clients } = request;
    const { signal } = request.sentFor;
    const queue = this.#queue(request);
    const [first = '', ...others] = clients;
    queue.waiting.add(request, first);
    for (const client of others) queue.waiting.share(request, client);
    return new Promise((resolve) => {
      const end = (waited: Waited) => {
        clearTimeout(expiry);
        signal.removeEventListener('abort', onAbort);
        this.#waiters.delete(request);
        queue.waiting.remove(request);
        if (queue.waiting.size === 0) queue.overloaded = false;
        resolve(waited);
      };
      const onAbort = () => end(ABANDONED);
      const giveUp = () => {
        queue.overloaded = true;
        end({ reason: 'waited-too-long', retryAfterMs: this.expectedWaitMs(request) });
      };
      const expiry = setTimeout(giveUp, this.#dependencies.patienceMs);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.set(request, { order: this.#arrivals++, end });
    });
  }

  /** Another client waits for a request, which takes the better one of their places; nothing when it does not wait. */
  join(request: EntryRequest, client: string): void {
    this.#queue(request).waiting.share(request, client);
  }

  /** Hands the free slots to those who wait, and ends the waits of those that no indexer may be sent now. */
  handOut(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      if ('slots' in next.end) next.end.slots.take(next.request.operation);
      this.#waiters.get(next.request)?.end(next.end);
    }
  }

  /** The next request of the operations that may take a slot: those below their share before the others, then by arrival. */
  #next(): { readonly request: EntryRequest; readonly end: Route | Refusal } | undefined {
    if (this.size === 0) return undefined;
    const candidates = [...this.#queues.values()].flatMap(({ waiting }) => {
      const { first } = waiting;
      if (first === undefined) return [];
      const open = this.#dependencies.routes.openTo(first);
      const end = 'reason' in open ? open : this.#dependencies.routes.choose(open, first);
      if (end === undefined) return [];
      const isBelowShare = 'reason' in end || end.slots.isBelowShare(first.operation);
      return { request: first, end, isBelowShare, order: this.#waiters.get(first)?.order ?? 0 };
    });
    candidates.sort((one, other) => Number(other.isBelowShare) - Number(one.isBelowShare) || one.order - other.order);
    return candidates[0];
  }

  /** That of its operation. Second tries have queues of their own: they may wait for one indexer while another is free. */
  #queue({ operation, not }: RouteRequest): Queue {
    const name = not === undefined ? operation : `${operation} not ${not}`;
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue: Queue = { waiting: new FairQueue(), overloaded: false };
    this.#queues.set(name, queue);
    return queue;
  }
}
