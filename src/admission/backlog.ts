import { DrainRate } from './drain-rate.ts';
import { Fifo, type Place } from './fifo.ts';

/** What a request for the indexer is worth, most first. */
export const PRIORITIES = ['miss', 'miss-with-fallback', 'refresh'] as const;

/**
 * `miss`: the client has nothing else; `miss-with-fallback`: it can be given a stale copy; `refresh`: no client waits,
 * the copy may still be served.
 */
export type Priority = (typeof PRIORITIES)[number];

/** One that waits for a slot. */
export interface Waiter {
  readonly operation: string;
  priority: Priority;
  /** Called once, when it gets its slot. */
  readonly start: () => void;
  /** Called once, when its patience is over. */
  readonly giveUp: () => void;
}

export interface BacklogDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface BacklogOptions {
  /** How long a client waits for a slot, in milliseconds. */
  readonly patienceMs: number;
  /** The same while newcomers are being refused, and where a stale copy can be served instead. */
  readonly shortPatienceMs: number;
  /** The most that may wait. */
  readonly maxWaiting: number;
}

/** Why a newcomer is not let in, and how long it would have waited, in milliseconds (0 when that is not known). */
export interface BacklogRefusal {
  readonly reason: 'expected-wait' | 'queue-full';
  readonly expectedWaitMs: number;
}

/** Those of one operation that wait. */
interface Lane {
  readonly byPriority: Readonly<Record<Priority, Fifo<Waiting>>>;
  readonly drain: DrainRate;
  size: number;
  /** Whether a miss was refused or gave up since the lane was last empty. */
  overloaded: boolean;
}

interface Waiting {
  readonly waiter: Waiter;
  /** Number of its arrival. */
  readonly order: number;
  readonly until: number;
  place: Place<Waiting> | undefined;
}

/**
 * The requests that wait for a slot: a lane for each operation, first in, first out by priority. Who comes is refused on
 * arrival, or served in its turn:
 *
 *   expected wait = waiting ahead of it in its lane / drain rate of the lane
 *
 * A newcomer is refused when its expected wait is longer than its patience. Before the drain rate is known nobody is
 * refused, so a burst never is. From the first miss that is refused until its lane is empty again the patience of
 * newcomers is the short one: under overload the backlog drains to what keeps the indexer busy, and latency falls while
 * goodput stays. (A refusal of another priority says nothing: it is impatient by itself, or waits behind all misses.)
 * Who was let in keeps its whole patience, and gives up only if the indexer became so much slower that it is over.
 */
export class Backlog {
  readonly #dependencies: BacklogDependencies;
  readonly #options: BacklogOptions;
  readonly #lanes = new Map<string, Lane>();
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
    return (this.#lanes.get(operation)?.size ?? 0) > 0;
  }

  /**
   * How long a request that comes now would wait, in milliseconds, up to twice the patience: those ahead of it give up
   * before. `undefined` while that is not known.
   */
  expectedWaitMs(operation: string, priority: Priority = 'miss'): number | undefined {
    const lane = this.#lanes.get(operation);
    if (lane === undefined || lane.size === 0) return 0;
    const perMs = lane.drain.perMs(this.#dependencies.now(), this.#options.patienceMs);
    if (perMs === undefined) return undefined;
    const longestMs = 2 * this.#options.patienceMs;
    // Nothing starts at all.
    if (perMs === 0) return longestMs;
    const ahead = PRIORITIES.slice(0, PRIORITIES.indexOf(priority) + 1).reduce(
      (sum, each) => sum + lane.byPriority[each].size,
      0,
    );
    return Math.min(ahead / perMs, longestMs);
  }

  /** Why a request would not be let in now. A miss that is refused makes the lane overloaded. */
  refuse(operation: string, priority: Priority): BacklogRefusal | undefined {
    const lane = this.#lane(operation);
    const expectedWaitMs = this.expectedWaitMs(operation, priority) ?? 0;
    const isFull = this.size >= this.#options.maxWaiting;
    if (!isFull && expectedWaitMs <= this.#patienceMs(lane, priority)) return undefined;
    if (priority === 'miss') lane.overloaded = lane.size > 0;
    return { reason: isFull ? 'queue-full' : 'expected-wait', expectedWaitMs };
  }

  /** Lets one in. */
  add(waiter: Waiter): void {
    const { now } = this.#dependencies;
    const { patienceMs, shortPatienceMs } = this.#options;
    const lane = this.#lane(waiter.operation);
    const since = now();
    if (lane.size === 0) lane.drain.begin(since);
    const patience = waiter.priority === 'miss-with-fallback' ? shortPatienceMs : patienceMs;
    const waiting: Waiting = { waiter, order: this.#arrivals++, until: since + patience, place: undefined };
    waiting.place = lane.byPriority[waiter.priority].push(waiting);
    lane.size++;
    this.#waiting.set(waiter, waiting);
    this.#scheduleExpiry(waiting.until);
  }

  /** Takes one out that does not want to wait any longer; does nothing when it does not wait. */
  remove(waiter: Waiter): void {
    const waiting = this.#waiting.get(waiter);
    if (waiting?.place === undefined) return;
    const lane = this.#lane(waiter.operation);
    lane.byPriority[waiter.priority].remove(waiting.place);
    this.#waiting.delete(waiter);
    lane.size--;
    if (lane.size === 0) lane.overloaded = false;
    if (this.size === 0) this.#cancelExpiry();
  }

  /** A client waits from now on for what was asked for as a refresh: it goes to the end of the misses. */
  raise(waiter: Waiter): void {
    if (waiter.priority !== 'refresh' || !this.#waiting.has(waiter)) return;
    const { overloaded } = this.#lane(waiter.operation);
    this.remove(waiter);
    waiter.priority = 'miss';
    this.add(waiter);
    this.#lane(waiter.operation).overloaded = overloaded;
  }

  /**
   * Takes out who is next among the operations that `mayStart`: those that `goFirst` before the others, then by
   * priority, then by arrival.
   */
  next(mayStart: (operation: string) => boolean, goFirst: (operation: string) => boolean): Waiter | undefined {
    let best: Waiting | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const [operation, lane] of this.#lanes) {
      if (lane.size === 0 || !mayStart(operation)) continue;
      const rank = PRIORITIES.findIndex((priority) => lane.byPriority[priority].size > 0);
      const candidate = lane.byPriority[PRIORITIES[rank] ?? 'miss'].first;
      const rankOfAll = rank + (goFirst(operation) ? 0 : PRIORITIES.length);
      const isBetter = rankOfAll < bestRank || (rankOfAll === bestRank && isOlder(candidate, best));
      if (candidate === undefined || !isBetter) continue;
      best = candidate;
      bestRank = rankOfAll;
    }
    if (best === undefined) return undefined;
    this.#lane(best.waiter.operation).drain.add(this.#dependencies.now());
    this.remove(best.waiter);
    return best.waiter;
  }

  #patienceMs(lane: Lane, priority: Priority): number {
    const isShort = lane.overloaded || priority === 'miss-with-fallback';
    return isShort ? this.#options.shortPatienceMs : this.#options.patienceMs;
  }

  /** One timer for all, for whoever gives up first. */
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
      if (waiter.priority === 'miss') this.#lane(waiter.operation).overloaded = true;
      this.remove(waiter);
      waiter.giveUp();
    }
    // Who waits in one line has the same patience, so the first of each line gives up first.
    this.#scheduleExpiry(Math.min(...this.#firsts().map(({ until }) => until)));
  }

  #overdue(now: number): Waiting | undefined {
    return this.#firsts().find(({ until }) => until <= now);
  }

  #firsts(): Waiting[] {
    return [...this.#lanes.values()].flatMap(({ byPriority }) =>
      PRIORITIES.flatMap((priority) => byPriority[priority].first ?? []),
    );
  }

  #lane(operation: string): Lane {
    const known = this.#lanes.get(operation);
    if (known !== undefined) return known;
    const lane: Lane = {
      byPriority: { miss: new Fifo(), 'miss-with-fallback': new Fifo(), refresh: new Fifo() },
      drain: new DrainRate(),
      size: 0,
      overloaded: false,
    };
    this.#lanes.set(operation, lane);
    return lane;
  }
}

function isOlder(one: Waiting | undefined, other: Waiting | undefined): boolean {
  return one !== undefined && (other === undefined || one.order < other.order);
}
