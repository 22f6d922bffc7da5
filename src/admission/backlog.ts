import { type FairPlace, FairQueue } from './fair-queue.ts';
import type { EntryRequest } from './guard.ts';
import { SlotTime } from './slot-time.ts';

/** How a wait ended that was not ended by {@link Backlog.remove}. */
export interface Waiter {
  readonly request: EntryRequest;
  /** Called once, when the request gets its slot. */
  readonly start: () => void;
  /** Called once, when it has waited as long as it may. */
  readonly giveUp: () => void;
}

export interface BacklogDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface BacklogOptions {
  /** How long a client waits for a slot, in milliseconds. */
  readonly patienceMs: number;
  /** The same for newcomers under overload. */
  readonly shortPatienceMs: number;
  /** The most requests that may wait. */
  readonly maxWaiting: number;
}

/** Why a newcomer is refused, and how long it would have waited, in milliseconds (0 when that is not known). */
export interface BacklogRefusal {
  readonly reason: 'expected-wait' | 'queue-full';
  readonly expectedWaitMs: number;
}

/** The waiting requests of one operation. */
interface Queue {
  readonly waiting: FairQueue<Waiting>;
  readonly slotTime: SlotTime;
  /** Whether a request was refused or gave up since the queue was last empty. */
  overloaded: boolean;
}

interface Waiting {
  readonly waiter: Waiter;
  /** The number of its arrival, to compare waiters of different queues. */
  readonly order: number;
  readonly expiry: NodeJS.Timeout;
}

/**
 * The requests that wait for a slot: for each operation a queue that is fair between clients. A newcomer is refused on
 * arrival, or waits for its turn:
 *
 *   expected wait = those that would go before it * slot time of the operation / slots that the operation uses
 *
 * A newcomer is refused when its expected wait is longer than its patience, or the backlog is full. While the slot time
 * is not known, no expected wait is too long: a burst is not refused. From the first refusal until the queue is
 * empty, newcomers have the short patience: under overload the backlog shrinks to what keeps the indexer busy, and
 * latency falls while goodput stays. A waiter keeps its whole patience, and gives up only if the indexer has become that
 * much slower, or if clients that wait for less go before it.
 */
export class Backlog {
  readonly #dependencies: BacklogDependencies;
  readonly #options: BacklogOptions;
  readonly #queues = new Map<string, Queue>();
  readonly #places = new Map<EntryRequest, FairPlace<Waiting>>();
  #arrivals = 0;

  constructor(dependencies: BacklogDependencies, options: BacklogOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** Requests that wait now. */
  get size(): number {
    return this.#places.size;
  }

  /** Whom each of the requests waits for. */
  *clients(): Generator<Iterable<string>> {
    for (const { clients } of this.#places.keys()) yield clients;
  }

  /** Whether requests of an operation wait now. */
  hasWaiting(operation: string): boolean {
    return (this.#queues.get(operation)?.waiting.size ?? 0) > 0;
  }

  /** How requests of an operation use slots, which {@link expectedWaitMs} follows from. */
  slotTime(operation: string): SlotTime {
    return this.#queue(operation).slotTime;
  }

  /**
   * How long a request of these clients that comes now would wait, in milliseconds; without clients, behind all others.
   * At most twice the patience, because those ahead of it give up before. `undefined` while that is not known.
   */
  expectedWaitMs(operation: string, clients: Iterable<string> = []): number | undefined {
    const { waiting, slotTime } = this.#queue(operation);
    if (waiting.size === 0) return 0;
    const ahead = Math.min(waiting.size, ...[...clients].map((client) => waiting.ahead(client)));
    const waitMs = ahead === 0 ? 0 : slotTime.waitMs(ahead);
    return waitMs === undefined ? undefined : Math.min(waitMs, 2 * this.#options.patienceMs);
  }

  /** Why a request would be refused now. A refusal makes a queue with waiters overloaded. */
  refuse({ operation, clients }: EntryRequest): BacklogRefusal | undefined {
    const queue = this.#queue(operation);
    const expectedWaitMs = this.expectedWaitMs(operation, clients) ?? 0;
    const isFull = this.size >= this.#options.maxWaiting;
    const { patienceMs, shortPatienceMs } = this.#options;
    if (!isFull && expectedWaitMs <= (queue.overloaded ? shortPatienceMs : patienceMs)) return undefined;
    queue.overloaded = queue.waiting.size > 0;
    return { reason: isFull ? 'queue-full' : 'expected-wait', expectedWaitMs };
  }

  /** Adds a waiter. */
  add(waiter: Waiter): void {
    const { operation, clients } = waiter.request;
    const expiry = setTimeout(() => this.#expire(waiter), this.#options.patienceMs);
    const [first = '', ...others] = clients;
    const { waiting } = this.#queue(operation);
    this.#places.set(waiter.request, waiting.add({ waiter, order: this.#arrivals++, expiry }, first));
    for (const client of others) this.join(waiter.request, client);
  }

  /** Another client waits for a request, which takes the better one of their places; nothing when it does not wait. */
  join(request: EntryRequest, client: string): void {
    const place = this.#places.get(request);
    if (place !== undefined) this.#places.set(request, this.#queue(request.operation).waiting.share(place, client));
  }

  /** Removes a request that has left; does nothing when it does not wait. */
  remove(request: EntryRequest): void {
    const at = this.#places.get(request);
    if (at === undefined) return;
    const queue = this.#queue(request.operation);
    clearTimeout(at.place.value.expiry);
    this.#places.delete(request);
    queue.waiting.remove(at);
    if (queue.waiting.size === 0) queue.overloaded = false;
  }

  /**
   * Removes and returns the next waiter of the operations that `mayStart`: those that `goFirst` before the others, then
   * by arrival.
   */
  next(mayStart: (operation: string) => boolean, goFirst: (operation: string) => boolean): Waiter | undefined {
    let best: Waiting | undefined;
    let isBestPreferred = false;
    for (const [operation, { waiting }] of this.#queues) {
      const candidate = waiting.first;
      if (candidate === undefined || !mayStart(operation)) continue;
      const isPreferred = goFirst(operation);
      const isOlder = best === undefined || candidate.order < best.order;
      if (best !== undefined && (isPreferred === isBestPreferred ? !isOlder : isBestPreferred)) continue;
      best = candidate;
      isBestPreferred = isPreferred;
    }
    if (best !== undefined) this.remove(best.waiter.request);
    return best?.waiter;
  }

  #expire(waiter: Waiter): void {
    this.#queue(waiter.request.operation).overloaded = true;
    this.remove(waiter.request);
    waiter.giveUp();
  }

  #queue(operation: string): Queue {
    const known = this.#queues.get(operation);
    if (known !== undefined) return known;
    const slotTime = new SlotTime(this.#dependencies, this.#options);
    const queue: Queue = { waiting: new FairQueue(), slotTime, overloaded: false };
    this.#queues.set(operation, queue);
    return queue;
  }
}
