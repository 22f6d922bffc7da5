import { FairQueue } from './fair-queue.ts';
import type { RouteRequest } from './guard.ts';

/** Waiting requests of one operation that may be sent to the same indexers. */
export interface WaitingQueue<T> extends Pick<RouteRequest, 'operation' | 'lane'> {
  readonly name: string;
  readonly waiting: FairQueue<T>;
}

/**
 * The queues of all operations, each fair between clients. Requests that may not be sent to the same indexers, or that
 * follow other rules, have queues of their own, so that they do not hold up the others.
 */
export class WaitingQueues<T> {
  readonly #queues = new Map<string, WaitingQueue<T>>();

  /** All queues; the one that was served last is at the end. */
  get all(): Iterable<WaitingQueue<T>> {
    return this.#queues.values();
  }

  of(request: RouteRequest): WaitingQueue<T> {
    const { operation, lane } = request;
    const name = operation + lane.name;
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue = { name, operation, lane, waiting: new FairQueue<T>() };
    this.#queues.set(name, queue);
    return queue;
  }

  /** Call when a request of a queue went: the other queues then come before it. */
  served(queue: WaitingQueue<T>): void {
    this.#queues.delete(queue.name);
    this.#queues.set(queue.name, queue);
  }

  /** True if each client of a request has other waiting requests, for any operation. */
  haveWaiting({ clients }: RouteRequest): boolean {
    return [...clients].every((client) => this.isWaiting(client));
  }

  isWaiting(client: string): boolean {
    for (const { waiting } of this.#queues.values()) if (waiting.count(client) > 0) return true;
    return false;
  }

  /** The number of waiters ahead of a request in its queue; without clients, all. */
  ahead(request: RouteRequest): number {
    return aheadIn(this.of(request), request);
  }

  /** The number of waiters in all queues that would use a reservation before a request. */
  aheadForReservation(request: RouteRequest): number {
    const own = this.of(request);
    const ahead = aheadIn(own, request);
    let all = ahead;
    for (const other of this.#queues.values()) {
      if (other === own || other.lane.rate !== own.lane.rate) continue;
      if (own.lane.isSecondTry) all += other.waiting.size;
      // Operations go in rotation.
      else if (!other.lane.isSecondTry) all += Math.min(aheadIn(other, request), ahead + 1);
    }
    return all;
  }
}

function aheadIn<T>({ waiting }: WaitingQueue<T>, { clients }: RouteRequest): number {
  return Math.min(waiting.size, ...[...clients].map((client) => waiting.ahead(client)));
}
