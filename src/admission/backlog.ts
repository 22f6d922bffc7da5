import { DrainRate } from './drain-rate.ts';
import { Fifo, type Place } from './fifo.ts';

/** The priorities of requests for the indexer, the highest first. */
export const PRIORITIES = ['miss', 'miss-with-fallback', 'refresh'] as const;

/**
 * `miss`: the client has nothing else; `miss-with-fallback`: it can be given a stale copy; `refresh`: no client waits,
 * because the stale copy may still be served.
 */
export type Priority = (typeof PRIORITIES)[number];

/** A request that waits for a slot. */
export interface Waiter {
  readonly operation: string;
  priority: Priority;
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
  /** The same for newcomers under overload, and for requests with a stale copy to serve instead. */
  readonly shortPatienceMs: number;
  /** The most requests that may wait. */
  readonly maxWaiting: number;
  /** The slots that they wait for: see {@link DrainRate}. */
  readonly slots: number;
}

/** Why a newcomer is refused, and how long it would have waited, in milliseconds (0 when that is not known). */
export interface BacklogRefusal {
  readonly reason: 'expected-wait' | 'queue-full';
  readonly expectedWaitMs: number;
}

/** The waiting requests of one operation. */
interface Queue {
  readonly byPriority: Readonly<Record<Priority, Fifo<Waiting>>>;
  readonly drain: DrainRate;
  size: number;
  /** Whether a miss was refused or gave up since the queue was last empty. */
  overloaded: boolean;
}

interface Waiting {
  readonly waiter: Waiter;
  /** The number of its arrival, to compare waiters of different queues. */
  readonly order: number;
  readonly until: number;
  place: Place<Waiting> | undefined;
}

/**
 * The requests that wait for a slot: a queue for each operation, first in, first out within each priority. A newcomer is
 * refused on arrival, or waits for its turn:
 *
 *   expected wait = waiting ahead of it in its queue / drain rate of the queue
 *
 * A newcomer is refused when its expected wait is longer than its patience, or the backlog is full. Before the drain
 * rate is known, no expected wait is too long: a burst is not refused. From the first refused miss until the queue is
 * empty, newcomers have the short patience: under overload the backlog shrinks to what keeps the indexer busy, and
 * latency falls while goodput stays. (Only a refused miss shows overload: the other priorities have a short patience
 * anyway, or wait behind all misses.) A waiter keeps its whole patience, and gives up only if the indexer has become
 * that much slower.
 */
export class Backlog {
  readonly #dependencies: BacklogDependencies;
  readonly #options: BacklogOptions;
  readonly #queues = new Map<string, Queue>();
  readonly #waiting = new Map<Waiter, Waiting>();
  #arrivals = 0;
  #expiry: NodeJS.Timeout | undefined;
  #expiryAt = Number.POSITIVE_INFINITY;

  constructor(dependencies: BacklogDependencies, options: BacklogOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** Requests that wait now. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Whether requests of an operation wait now. */
  hasWaiting(operation: string): boolean {
    return (this.#queues.get(operation)?.size ?? 0) > 0;
  }

  /**
   * How long a request that comes now would wait, in milliseconds, at most twice the patience, because those ahead of
   * it give up before. `undefined` while that is not known.
   */
  expectedWaitMs(operation: string, priority: Priority = 'miss'): number | undefined {
    const queue = this.#queues.get(operation);
    if (queue === undefined || queue.size === 0) return 0;
    const perMs = queue.drain.perMs(this.#dependencies.now(), this.#options.patienceMs);
    if (perMs === undefined) return undefined;
    const longestMs = 2 * this.#options.patienceMs;
    // No request has started at all.
    if (perMs === 0) return longestMs;
    const ahead = PRIORITIES.slice(0, PRIORITIES.indexOf(priority) + 1).reduce(
      (sum, each) => sum + queue.byPriority[each].size,
      0,
    );
    return Math.min(ahead / perMs, longestMs);
  }

  /** Why a request would be refused now. A refused miss makes a queue with waiters overloaded. */
  refuse(operation: string, priority: Priority): BacklogRefusal | undefined {
    const queue = this.#queue(operation);
    const expectedWaitMs = this.expectedWaitMs(operation, priority) ?? 0;
    const isFull = this.size >= this.#options.maxWaiting;
    if (!isFull && expectedWaitMs <= this.#patienceMs(queue, priority)) return undefined;
    if (priority === 'miss') queue.overloaded = queue.size > 0;
    return { reason: isFull ? 'queue-full' : 'expected-wait', expectedWaitMs };
  }

  /** Adds a waiter. */
  add(waiter: Waiter): void {
    const { now } = this.#dependencies;
    const { patienceMs, shortPatienceMs } = this.#options;
    const queue = this.#queue(waiter.operation);
    const since = now();
    if (queue.size === 0) queue.drain.begin(since);
    const patience = waiter.priority === 'miss-with-fallback' ? shortPatienceMs : patienceMs;
    const waiting: Waiting = { waiter, order: this.#arrivals++, until: since + patience, place: undefined };
    waiting.place = queue.byPriority[waiter.priority].push(waiting);
    queue.size++;
    this.#waiting.set(waiter, waiting);
    this.#scheduleExpiry(waiting.until);
  }

  /** Removes a waiter that has left; does nothing when it does not wait. */
  remove(waiter: Waiter): void {
    const waiting = this.#waiting.get(waiter);
    if (waiting?.place === undefined) return;
    const queue = this.#queue(waiter.operation);
    queue.byPriority[waiter.priority].remove(waiting.place);
    this.#waiting.delete(waiter);
    queue.size--;
    if (queue.size === 0) queue.overloaded = false;
    if (this.size === 0) this.#cancelExpiry();
  }

  /** Moves a refresh to the end of the misses: a client waits for it from now on. */
  raise(waiter: Waiter): void {
    if (waiter.priority !== 'refresh' || !this.#waiting.has(waiter)) return;
    const { overloaded } = this.#queue(waiter.operation);
    this.remove(waiter);
    waiter.priority = 'miss';
    this.add(waiter);
    this.#queue(waiter.operation).overloaded = overloaded;
  }

  /**
   * Removes and returns the next waiter of the operations that `mayStart`: those that `goFirst` before the others, then
   * by priority, then by arrival.
   */
  next(mayStart: (operation: string) => boolean, goFirst: (operation: string) => boolean): Waiter | undefined {
    let best: Waiting | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const [operation, queue] of this.#queues) {
      if (queue.size === 0 || !mayStart(operation)) continue;
      const rank = PRIORITIES.findIndex((priority) => queue.byPriority[priority].size > 0);
      const candidate = queue.byPriority[PRIORITIES[rank] ?? 'miss'].first;
      const rankOfAll = rank + (goFirst(operation) ? 0 : PRIORITIES.length);
      const isBetter = rankOfAll < bestRank || (rankOfAll === bestRank && isOlder(candidate, best));
      if (candidate === undefined || !isBetter) continue;
      best = candidate;
      bestRank = rankOfAll;
    }
    if (best === undefined) return undefined;
    this.#queue(best.waiter.operation).drain.add(this.#dependencies.now());
    this.remove(best.waiter);
    return best.waiter;
  }

  #patienceMs(queue: Queue, priority: Priority): number {
    const isShort = queue.overloaded || priority === 'miss-with-fallback';
    return isShort ? this.#options.shortPatienceMs : this.#options.patienceMs;
  }

  /** One timer serves all waiters; it is set for the one that gives up first. */
  #scheduleExpiry(until: number): void {
    if (until >= this.#expiryAt) return;
    this.#cancelExpiry();
    this.#expiryAt = until;
    this.#expiry = setTimeout(() => this.#expire(), Math.max(1, Math.ceil(until - this.#dependencies.now())));
  }

  #cancelExpiry(): void {
    clearTimeout(this.#expiry);
    this.#expiryAt = Number.POSITIVE_INFINITY;
  }

  #expire(): void {
    this.#cancelExpiry();
    const now = this.#dependencies.now();
    for (let overdue = this.#overdue(now); overdue !== undefined; overdue = this.#overdue(now)) {
      const { waiter } = overdue;
      if (waiter.priority === 'miss') this.#queue(waiter.operation).overloaded = true;
      this.remove(waiter);
      waiter.giveUp();
    }
    // All waiters of one priority in a queue have the same patience, so the first of them gives up first.
    this.#scheduleExpiry(Math.min(...this.#firsts().map(({ until }) => until)));
  }

  #overdue(now: number): Waiting | undefined {
    return this.#firsts().find(({ until }) => until <= now);
  }

  #firsts(): Waiting[] {
    return [...this.#queues.values()].flatMap(({ byPriority }) =>
      PRIORITIES.flatMap((priority) => byPriority[priority].first ?? []),
    );
  }

  #queue(operation: string): Queue {
    const known = this.#queues.get(operation);
    if (known !== undefined) return known;
    const queue: Queue = {
      byPriority: { miss: new Fifo(), 'miss-with-fallback': new Fifo(), refresh: new Fifo() },
      drain: new DrainRate(this.#options),
      size: 0,
      overloaded: false,
    };
    this.#queues.set(operation, queue);
    return queue;
  }
}

function isOlder(one: Waiting | undefined, other: Waiting | undefined): boolean {
  return one !== undefined && (other === undefined || one.order < other.order);
}
