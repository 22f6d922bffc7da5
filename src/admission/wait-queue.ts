/** What a request for the indexer is worth, most first: the last are shed first. */
export const PRIORITIES = ['miss', 'miss-with-fallback', 'refresh'] as const;

/**
 * `miss`: a client has nothing else; `miss-with-fallback`: it can be given a stale copy; `refresh`: nobody waits, the
 * copy may still be served.
 */
export type Priority = (typeof PRIORITIES)[number];

/** Why somebody left the queue without a turn. */
export type QueueRejection = 'queue-full' | 'waited-too-long';

/** One who waits. */
export interface Waiter {
  readonly operation: string;
  readonly priority: Priority;
  readonly enqueuedAt: number;
  /** Called by whoever took the waiter out, to give it its turn. */
  readonly accept: () => void;
  /** Called once, when the queue turns the waiter away. */
  readonly reject: (reason: QueueRejection) => void;
}

/** Says something of an operation: `hasClaim`, whether it has less than the part of the permits that it is sure of. */
type OperationTest = (operation: string) => boolean;

/** What a queue is made of. */
export interface WaitQueueOptions {
  /** The most that may wait. */
  readonly maxWaiting: number;
  /** How long one may wait while overloaded, in milliseconds. Otherwise one waits as long as one likes. */
  readonly targetMs: number;
  /** The queue is overloaded when it was never empty for this long, in milliseconds. */
  readonly intervalMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/**
 * Who waits for a permit, and who is next. A queue that empties now and then is a buffer: first in, first out. One
 * that does not is overload, and then the oldest have clients that are about to give up: the newest goes first, and who
 * waited longer than the target is turned away at once (CoDel, RFC 8289, with the adaptive LIFO of "Fail at Scale",
 * ACM Queue 13:8).
 */
export class WaitQueue {
  readonly #options: WaitQueueOptions;
  /** By priority, then by operation; each set in the order of arrival. */
  readonly #lanes = new Map<Priority, Map<string, Set<Waiter>>>(PRIORITIES.map((priority) => [priority, new Map()]));
  #size = 0;
  #notEmptySince = 0;
  #sweep: NodeJS.Timeout | undefined;

  constructor(options: WaitQueueOptions) {
    this.#options = options;
  }

  /** Those who wait now. */
  get size(): number {
    return this.#size;
  }

  /** Whether the queue was never empty for the whole interval. */
  get overloaded(): boolean {
    const { now, intervalMs } = this.#options;
    return this.#size > 0 && now() - this.#notEmptySince >= intervalMs;
  }

  /**
   * Lets one in. A full queue turns away the one of the least worth that waited longest, be it the newcomer; of equal
   * worth one whose operation `hasClaim` goes before one whose operation has none.
   */
  add(waiter: Waiter, hasClaim: OperationTest = () => false): void {
    const wasEmpty = this.#size === 0;
    if (this.#size >= this.#options.maxWaiting && !this.#makeRoom(waiter, hasClaim)) {
      waiter.reject('queue-full');
      return;
    }
    if (wasEmpty) this.#notEmptySince = this.#options.now();
    this.#lane(waiter).add(waiter);
    this.#size++;
    this.#scheduleSweep();
  }

  /** Takes one out who does not want to wait any longer. */
  remove(waiter: Waiter): void {
    if (!this.#lane(waiter).delete(waiter)) return;
    this.#size--;
    if (this.#size > 0) return;
    clearTimeout(this.#sweep);
    this.#sweep = undefined;
  }

  /** Takes out who is next among the operations that `mayHaveMore`: who `hasClaim` first, then by worth, then by order. */
  take(hasClaim: OperationTest, mayHaveMore: OperationTest = () => true): Waiter | undefined {
    const next = this.#next((operation) => mayHaveMore(operation) && hasClaim(operation)) ?? this.#next(mayHaveMore);
    if (next !== undefined) this.remove(next);
    return next;
  }

  #next(accepts: OperationTest): Waiter | undefined {
    const newestFirst = this.overloaded;
    for (const priority of PRIORITIES) {
      let best: Waiter | undefined;
      for (const [operation, lane] of this.#lanes.get(priority) ?? []) {
        if (!accepts(operation)) continue;
        const candidate = newestFirst ? last(lane) : first(lane);
        if (candidate === undefined) continue;
        if (best === undefined || candidate.enqueuedAt > best.enqueuedAt === newestFirst) best = candidate;
      }
      if (best !== undefined) return best;
    }
    return undefined;
  }

  #makeRoom(newcomer: Waiter, hasClaim: OperationTest): boolean {
    const lessWorth = PRIORITIES.slice(PRIORITIES.indexOf(newcomer.priority) + 1).toReversed();
    const claims = hasClaim(newcomer.operation);
    const leaver =
      this.#oldestOf(lessWorth, () => true) ??
      // Of equal worth, those with a claim go before those without, and the newcomer where the newest goes first.
      (claims || this.overloaded ? this.#oldestOf([newcomer.priority], (other) => !hasClaim(other)) : undefined) ??
      (claims && this.overloaded ? this.#oldestOf([newcomer.priority], () => true) : undefined);
    if (leaver === undefined) return false;
    this.#turnAway(leaver, 'queue-full');
    return true;
  }

  /** The oldest of the first of these priorities that has one. */
  #oldestOf(priorities: readonly Priority[], accepts: OperationTest): Waiter | undefined {
    for (const priority of priorities) {
      const oldest = this.#oldest(priority, accepts);
      if (oldest !== undefined) return oldest;
    }
    return undefined;
  }

  #oldest(priority: Priority, accepts: OperationTest = () => true): Waiter | undefined {
    let oldest: Waiter | undefined;
    for (const [operation, lane] of this.#lanes.get(priority) ?? []) {
      const candidate = accepts(operation) ? first(lane) : undefined;
      if (candidate !== undefined && (oldest === undefined || candidate.enqueuedAt < oldest.enqueuedAt)) {
        oldest = candidate;
      }
    }
    return oldest;
  }

  #turnAway(waiter: Waiter, reason: QueueRejection): void {
    this.remove(waiter);
    waiter.reject(reason);
  }

  /** One timer for all: it fires when overload may have begun, and then when the oldest has waited for the target. */
  #scheduleSweep(): void {
    if (this.#sweep !== undefined || this.#size === 0) return;
    const { now, intervalMs, targetMs } = this.#options;
    const oldestAt = Math.min(...PRIORITIES.map((priority) => this.#oldest(priority)?.enqueuedAt ?? Infinity));
    const dueAt = Math.max(this.#notEmptySince + intervalMs, oldestAt + targetMs);
    this.#sweep = setTimeout(() => this.#sweepOut(), Math.max(1, dueAt - now()));
  }

  #sweepOut(): void {
    this.#sweep = undefined;
    const { now, targetMs } = this.#options;
    if (this.overloaded) {
      for (const priority of PRIORITIES) {
        for (let oldest = this.#oldest(priority); oldest !== undefined; oldest = this.#oldest(priority)) {
          if (now() - oldest.enqueuedAt < targetMs) break;
          this.#turnAway(oldest, 'waited-too-long');
        }
      }
    }
    this.#scheduleSweep();
  }

  #lane({ operation, priority }: Waiter): Set<Waiter> {
    const lanes = this.#lanes.get(priority) ?? new Map<string, Set<Waiter>>();
    const lane = lanes.get(operation) ?? new Set<Waiter>();
    lanes.set(operation, lane);
    return lane;
  }
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  return set.values().next().value;
}

/** A Set gives its values from the oldest only, so the newest is found by walking: lanes are short. */
function last<T>(set: ReadonlySet<T>): T | undefined {
  let newest: T | undefined;
  for (const value of set) newest = value;
  return newest;
}
